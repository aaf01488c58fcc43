"""Builds and loads the core; what was built before is used again."""

import ctypes
import re
from ctypes import CDLL, c_double, c_int, c_int64, c_void_p
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from sim.model.congestion.core import records
from sim.model.congestion.core.records import ALGORITHMS, ARRAYS, RECORDS, Records, State
from testbench.verilated_model import COMPILER, ModelBuildError, compiler_version, folder_of, run_tool

_HERE = Path(str(resources.files("sim.model.congestion.core")))
_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-shared", "-fno-gnu-unique", "-Wall", "-Wextra")
_CHECKED = ("-DCONIC_CHECKED", "-fsanitize=undefined", "-fno-sanitize-recover", "-static-libubsan")
_TYPES = {"int64": "int64_t", "int32": "int32_t", "int16": "int16_t", "int8": "int8_t", "float64": "double",
          "bool": "bool"}
_CONSTANTS = ("NONE", "NEVER", "MAX_HOPS", "EVENT_BITS", "MAX_PS", "DATA", "ACK", "PAUSE", "RESUME", "RUNNING",
              "AT_REST", "NEEDS_PACKETS", "NEEDS_LOG", "OUT_OF_TIME")


class CoreError(RuntimeError):
    """The compiler refused the core; the message holds its output."""


class _Array(ctypes.Structure):
    _fields_ = (("items", c_void_p), ("size", c_int64))


class _State(ctypes.Structure):
    _fields_ = tuple((name, _Array) for name in ARRAYS)


def header() -> str:
    """`records.h`: constants, records and state as the core sees them, from `records.py`."""
    lines = ["// Written by library.py from records.py.", "#pragma once", "", '#include "array.h"', "",
             "namespace conic::congestion {", ""]
    for name in _CONSTANTS:
        lines.append(f"constexpr int64_t {_camel(name)} = {getattr(records, name)};")
    lines += [f"constexpr int64_t {_camel(name)} = {number};" for name, number in ALGORITHMS.items()
              if name != "none"]
    for name, kind in RECORDS.items():
        lines += ["", f"struct {name} {{"]
        for field in kind.names or ():
            lines.append(f"    {_TYPES[kind[field].name]} {field};")
        lines += ["};", f"static_assert(sizeof({name}) == {kind.itemsize});"]
    lines += ["", "struct State {"] + [f"    Array<{item}> {name};" for name, item in ARRAYS.items()] + ["};"]
    return "\n".join([*lines, "", "}  // namespace conic::congestion", ""])


def _camel(name: str) -> str:
    return "k" + re.sub(r"_", "", name.title())


def build(*, is_checked: bool = False, edits: tuple[tuple[str, str, str], ...] = ()) -> Path:
    """The shared library, built if need be.

    Parameters
    ----------
    is_checked : bool
        Every index beyond an array, and every overflow, ends the process.
    edits : tuple of (file, text, new text)
        Bugs that a test plants.

    Raises
    ------
    CoreError
        If the compiler fails.
    """
    flags = (*_FLAGS, *(_CHECKED if is_checked else ()))
    sources = {path.name: path.read_text() for path in [*sorted(_HERE.glob("*.h")), _HERE / "core.cpp"]}
    sources["records.h"] = header()
    for name, text, new in edits:
        if sources[name].count(text) != 1:
            raise CoreError(f"{name}: must have {text!r} once")
        sources[name] = sources[name].replace(text, new)
    with folder_of("congestion", [compiler_version(), *flags, *sources, *sources.values()]) as folder:
        library = folder / "libcongestion.so"
        if not library.exists():
            for name, text in sources.items():
                (folder / name).write_text(text)
            made = folder / "new.so"
            try:
                run_tool([COMPILER, *flags, f"-I{folder}", str(folder / "core.cpp"), "-o", str(made)])
            except ModelBuildError as error:
                raise CoreError(str(error)) from None
            made.rename(library)
    return library


@cache
def load(*, is_checked: bool = False, edits: tuple[tuple[str, str, str], ...] = ()) -> Any:
    """The library with its interface (core.cpp); as :func:`build`."""
    library = CDLL(str(build(is_checked=is_checked, edits=edits)))
    for name, result, arguments in _FUNCTIONS:
        function = getattr(library, f"conic_{name}")
        function.restype, function.argtypes = result, arguments
    return library


_P, _I = c_void_p, c_int64
_FUNCTIONS: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
    ("congestion_run", c_int, (_P, _I)),
    ("dctcp", None, (_P, _P, _I, c_int)), ("dcqcn_mark", None, (_P, _P, _I)), ("dcqcn_advance", None, (_P, _P, _I)),
    ("timely", None, (_P, _P, _I, _I)), ("hpcc", None, (_P, _P, _P, c_int, _P, _I)),
    ("hpcc_hop", None, (_P, _P, _I, _P)), ("pint", None, (_P, _P, _I, c_int)),
    ("pint_smoothed", c_double, (_P, _I, _I)), ("pint_encode", c_int, (c_double, c_double, _P)),
    ("pint_decode", c_double, (c_int, c_double)), ("admit", c_int, (_P, _P, _P, _I)),
    ("release", None, (_P, _P, _P, _I)), ("should_pause", c_int, (_P, _P, _P)),
    ("should_resume", c_int, (_P, _P, _P)), ("should_mark", c_int, (_P, _P)), ("is_window_full", c_int, (_P, _P)),
)
"""Functions, their results and arguments; records go by their address (:func:`address`)."""


def address(items: Records) -> int:
    """Where an array lies."""
    return int(items.ctypes.data)


def run(state: State, n_events: int, library: Any = None) -> int:
    """Goes on for at most so many events, and says why it stopped; with another library than the usual one if given."""
    given = _State()
    for name in ARRAYS:
        items = getattr(state, name)
        assert items.flags.c_contiguous, name
        setattr(given, name, _Array(items.ctypes.data, items.size))
    return int((library or load()).conic_congestion_run(ctypes.byref(given), n_events))
