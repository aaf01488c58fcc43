"""Verilog of a component, and of a recipe for one: that is converted once and kept."""

import hashlib
import json
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth import Value
from amaranth.lib.wiring import In

from rtl.kit.library import verilog_modules
from testbench.bundle import Bundle
from testbench.verilated_model import folder_of

_rooms = ("rtl", "firmware_models.abi", "firmware_models.config")
"""Packages that components are made from."""


@dataclass(frozen=True)
class Design:
    """A component as Verilog."""

    top: str
    """Name of the top module."""
    verilog: str
    inputs: tuple[str, ...]
    """Names of the inputs, without clock and reset."""


def design_of(component: Any, *, top: str | None = None) -> Design:
    """Converts a component to Verilog.

    Parameters
    ----------
    component : wiring.Component or functools.partial
        A component, or a class or function with the arguments that make one. Of the latter the Verilog is kept, named
        by the arguments and by all sources that components are made from; then `repr` of each argument must say all.
    top : str, optional
        Name of the Verilog module; the name of the component's class if not given.

    Raises
    ------
    ValueError
        If an argument shows itself as an address in memory.
    """
    if not isinstance(component, partial):
        return _convert(component, top)
    made = f"{component.func.__module__}.{component.func.__qualname__}"
    arguments = repr((component.args, sorted(component.keywords.items())))
    if " at 0x" in arguments:
        raise ValueError(f"arguments of {made} must be values that say what they are, not {arguments}")
    sources = _sources(component.func.__module__.partition(".")[0])
    with folder_of("verilog", [version("amaranth"), sources, made, arguments, str(top)]) as folder:
        kept, text = folder / "design.json", folder / "design.v"
        if kept.exists():
            known = json.loads(kept.read_text())
            return Design(top=known["top"], verilog=text.read_text(), inputs=tuple(known["inputs"]))
        design = _convert(component(), top)
        text.write_text(design.verilog)
        part = folder / "design.json.new"
        part.write_text(json.dumps({"top": design.top, "inputs": design.inputs}))
        part.rename(kept)
        return design


def to_verilog(component: Any, *, name: str) -> str:
    """Verilog of `component` as module `name`. It names no lines of Python, so a comment there changes nothing here."""
    # The names of shared modules tell the modules of one design apart, not those of several side by side.
    return "".join(verilog_modules(name, component, share=not isinstance(component, Bundle)))


def _convert(component: Any, top: str | None) -> Design:
    top = top or type(component).__name__
    text = to_verilog(component, name=top)
    flat = component.signature.flatten(component)
    inputs = tuple(  # those of no width do not exist in the Verilog
        "__".join(map(str, path)) for path, member, value in flat if member.flow is In and len(Value.cast(value))
    )
    return Design(top=top, verilog=text, inputs=inputs)


@cache
def _sources(room: str) -> str:
    """Hash of the sources that a component of `room` is made from."""
    digest = hashlib.sha256()
    for package in dict.fromkeys((*_rooms, room)):
        for root in map(Path, import_module(package).__path__):
            for path in sorted(root.rglob("*.py")):
                digest.update(f"{package} {path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
