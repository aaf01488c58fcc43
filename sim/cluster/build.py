"""Builds the library that simulates clusters of one configuration; what was built before is used again."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path

from firmware_models.config import Config, load_preset
from rtl.nic.nic import SHARED_UNIT
from rtl.simulation import SimulationVerilog, simulation_verilog
from sim.cluster.model_state import state_header
from sim.cluster.still_units import comparison, noting_writes, with_note
from sim.cluster.unit_calls import direct_calls
from sim.cluster.units_apart import edge_of_all, resting_wrapper
from sim.report.progress import ProgressCallback
from testbench.toolchain import verilator_version
from testbench.verilated_model import (
    COMPILER,
    ModelBuildError,
    compiler_flags,
    compiler_version,
    folder_of,
    precompiled_header,
    run_tool,
    runtime_archive,
)

_HERE = Path(str(resources.files("sim.cluster")))
_FST = Path(str(resources.files("testbench"))) / "fst"
_RUNTIME = ("library.cpp", "cluster.cpp", "station.cpp")
_RUNTIME_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fno-gnu-unique", "-Wall", "-Wextra")
_VERILATOR = (
    "--cc", "--no-timing", "-Wno-fatal", "-Wno-lint", "--output-split", "20000", "--x-assign", "fast",
    "--x-initial", "unique",
)
# A model's code is longer than the caches that feed a core, and runs through once in a cycle: what -O2 does beyond -O1
# takes half as much again of the compiler's time and gains nothing (docs/cluster.md).
_HOT, _COLD = ("-O1",), ("-O0",)
# That of units that stand apart runs through once for all of them, and is worth it. But where GCC 12 makes vectors of
# statements, as it does from -O2 on, it goes wrong: 68,207 cycles where 68,188 are right (docs/cluster.md).
_HOT_APART = ("-O2", "-fno-tree-slp-vectorize")
_PARTS = 4
"""Files that the hot code is compiled as, so that several cores have work."""
_FEWEST_UNITS_APART = 4
"""From so many offload units on, Verilator takes one of them as a model of its own, whose objects the NIC holds. That
costs time in each cycle, but the compiler's time does not grow with the number of units."""


class ClusterBuildError(RuntimeError):
    """Verilator or the compiler refused something; the message holds their output."""


def build_library(config: Config, *, waves: bool = False, progress: ProgressCallback | None = None) -> Path:
    """The shared library for `config`, built if need be.

    NIC, switch and cluster each have a folder named by the hash of all that goes into it: RTL sources, configuration,
    C++ sources, flags, tool versions. So clusters of different switches share their NIC, and another topology with
    switches of the same size compiles nothing.

    Parameters
    ----------
    config : Config
        What the NICs and switches are made from.
    waves : bool
        Build with support for waveforms, which is slower.
    progress : callable, optional
        Called with the steps.

    Raises
    ------
    ClusterBuildError
        If a tool fails.
    """
    say = progress or (lambda _stage, _done, _total: None)
    try:
        with ThreadPoolExecutor(1) as beside:
            # Compilers have work while Verilog of the NIC, which is the largest, is written and translated.
            say("build: switch", 0, 4)
            switch = _start("switch", config, waves=waves, pool=beside)
            others = beside.submit(_around, waves=waves)
            say("build: NIC", 1, 4)
            nic = _start("nic", replace(config, switch=load_preset("small").switch), waves=waves, pool=None)
            say("build: cluster", 2, 4)
            archives = [nic.result(), switch.result(), *others.result()]
        say("build: library", 3, 4)
        library = _link(archives)
    except ModelBuildError as error:
        raise ClusterBuildError(str(error)) from None
    say("build: done", 4, 4)
    return library


def _start(top: str, config: Config, *, waves: bool, pool: ThreadPoolExecutor | None) -> "Future[Path]":
    """Begins to build the archive of one model; Verilog is written at once, the rest is left to `pool`."""
    parts = _model_parts(top, config, waves=waves)
    with folder_of("models", parts) as folder:
        built = (folder / "model.a").exists()
    design = None if built else simulation_verilog(top, config)
    if pool is None:
        done: Future[Path] = Future()
        done.set_result(_model(top, config, parts, design, waves=waves))
        return done
    return pool.submit(_model, top, config, parts, design, waves=waves)


def _prefix(top: str) -> str:
    return f"V{top.capitalize()}"


def _units_stand_apart(config: Config) -> bool:
    """Reliable links never rest, and a NIC beside one has to be evaluated in every cycle: units that stand apart rest
    all the same.
    """
    return config.link.reliable or config.nic.n_cous >= _FEWEST_UNITS_APART


def _model_parts(top: str, config: Config, *, waves: bool) -> list[str]:
    """All that decides over the archive of a model."""
    names = (
        f"{top}_model.cpp", "verilated_model.h", "model.h", "model_state.py", "still_units.py", "unit_calls.py",
        "units_apart.py",
    )
    sources = [_text(name) for name in names]
    return [
        _design(), top, repr(config), str(waves), *_VERILATOR, *_HOT, *_HOT_APART, *_COLD,
        *compiler_flags(_fst(waves), shared=True), str(_units_stand_apart(config)), verilator_version(),
        compiler_version(), *sources,
    ]


def _model(
    top: str, config: Config, parts: Sequence[str], design: SimulationVerilog | None, *, waves: bool
) -> Path:
    """Archive with a Verilated model and what makes a ``conic::Model`` of it, built if need be."""
    prefix, is_apart = _prefix(top), top == "nic" and _units_stand_apart(config)
    with folder_of("models", parts) as folder:
        archive = folder / "model.a"
        if archive.exists():
            return archive
        design = design or simulation_verilog(top, config)
        source = folder / f"{prefix}.v"
        source.write_text(design.text)
        apart = folder / "apart.vlt"
        rule = f'hier_block -module "{SHARED_UNIT}"\n' if is_apart else ""
        apart.write_text(f"`verilator_config\n{rule}")
        trace = ["--trace-fst", "--trace-structs"] if waves else []
        run_tool([
            "verilator", *_VERILATOR, *trace, *(["--hierarchical"] if is_apart else ()), "--prefix", prefix,
            "--top-module", design.top, "--Mdir", str(folder), str(apart), str(source),
        ])
        if is_apart:
            run_tool(["make", "-C", str(folder), "-f", f"{prefix}_hier.mk", "hier_verilation"])
        (folder / "ports.h").write_text(_ports_header(config, design, waves=waves))
        unit = (folder / f"V{SHARED_UNIT}", f"V{SHARED_UNIT}") if is_apart else None
        resting = _write_resting(folder, prefix, unit, n_units=config.nic.n_cous) if unit else None
        (folder / "state.h").write_text(state_header(folder, prefix, apart=unit, n_apart=config.nic.n_cous))
        objects = _compile(folder, prefix, [_HERE / f"{top}_model.cpp"], hot=_HOT, waves=waves)
        if unit and resting:
            objects += _compile(*unit, [resting], hot=_HOT_APART, waves=waves)
        _archive(archive, objects)
    return archive


def _write_resting(nic: Path, nic_prefix: str, unit: tuple[Path, str], *, n_units: int) -> Path:
    """The wrapper of units that stand apart. Their code is changed so that it notes writes to memories, the NIC's so
    that it calls them directly.
    """
    calls = ""
    for path in sorted(nic.glob(f"{nic_prefix}_{SHARED_UNIT}__*.cpp")):
        text, defined = direct_calls(path.read_text())
        path.write_text(text)
        calls += defined
    folder, prefix = unit
    root = folder / f"{prefix}___024root.h"
    header, code = root.read_text(), ""
    for path in sorted(folder.glob(f"{prefix}___024root__*.cpp")):
        text = path.read_text()
        code += text
        if not path.stem.endswith("Slow"):
            path.write_text(noting_writes(text, header))
    root.write_text(with_note(header))
    resting = folder / "resting.cpp"
    resting.write_text(resting_wrapper(
        (folder / f"{SHARED_UNIT}.cpp").read_text(), edge_of_all(code),
        comparison(header, (folder / f"{prefix}__Syms.h").read_text()), calls, n_units,
    ))
    return resting


def _compile(
    folder: Path, prefix: str, beside: Sequence[Path], *, hot: tuple[str, ...], waves: bool
) -> list[Path]:
    """Objects of all that Verilator has written for a class, and of the files beside it."""
    common = (*compiler_flags(_fst(waves), shared=True), f"-I{folder}", f"-I{folder / f'V{SHARED_UNIT}'}", f"-I{_HERE}")
    written = sorted(folder.glob(f"{prefix}*.cpp"))
    cold = [path for path in written if path.stem.endswith("Slow")]
    often = [path for path in written if path not in cold]
    groups = [(_COLD, group) for group in _balanced(cold, 2)] + [(hot, group) for group in _balanced(often, _PARTS)]
    groups += [(hot, [path]) for path in beside]
    headers = {flags: precompiled_header(flags, _fst(waves), shared=True) for flags in (hot, _COLD)}

    def compiled(number: int) -> Path:
        flags, group = groups[number]
        text, made = folder / f"part{number}.cpp", folder / f"part{number}.o"
        text.write_text("".join(f'#include "{path}"\n' for path in group))
        run_tool([COMPILER, *flags, *common, "-include", str(headers[flags]), "-c", str(text), "-o", str(made)])
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compiled, range(len(groups))))


def _balanced(paths: Iterable[Path], count: int) -> list[list[Path]]:
    """`paths` in `count` groups of about the same size."""
    groups: list[list[Path]] = [[] for _ in range(count)]
    sizes = [0] * count
    for path in sorted(paths, key=lambda path: -path.stat().st_size):
        least = sizes.index(min(sizes))
        groups[least].append(path)
        sizes[least] += path.stat().st_size
    return [group for group in groups if group]


def _around(*, waves: bool) -> list[Path]:
    """Archives of all that stands around the models."""
    return [_runtime(), _waves(waves=waves), runtime_archive(_fst(waves), shared=True)]


def _runtime() -> Path:
    """Archive of the cluster around the models: the same for all configurations."""
    headers = [path.name for path in sorted(_HERE.glob("*.h"))]
    parts = [compiler_version(), *_RUNTIME_FLAGS, *map(_text, (*headers, *_RUNTIME))]
    with folder_of("clusters", parts) as folder:
        archive = folder / "cluster.a"
        if not archive.exists():
            objects = []
            for name in _RUNTIME:
                objects.append(folder / f"{name}.o")
                run_tool([COMPILER, *_RUNTIME_FLAGS, f"-I{_HERE}", "-c", str(_HERE / name), "-o", str(objects[-1])])
            _archive(archive, objects)
    return archive


def _waves(*, waves: bool) -> Path:
    """Archive with what writes waveforms, or with what says that there are none."""
    flags = ("-O1", *compiler_flags(_fst(waves), shared=True), f"-DCONIC_TRACE={int(waves)}", f"-I{_HERE}")
    sources = map(_text, ("waves.cpp", "model.h", "verilated_model.h"))
    parts = [compiler_version(), verilator_version(), *flags, *sources]
    with folder_of("waves", parts) as folder:
        archive = folder / "waves.a"
        if not archive.exists():
            run_tool([COMPILER, *flags, "-c", str(_HERE / "waves.cpp"), "-o", str(folder / "waves.o")])
            _archive(archive, [folder / "waves.o"])
    return archive


def _archive(archive: Path, objects: Sequence[Path]) -> None:
    # Renamed when complete, so that an interrupted build leaves nothing that looks like an archive.
    part = archive.with_suffix(".new")
    part.unlink(missing_ok=True)
    run_tool(["ar", "rcs", str(part), *map(str, objects)])
    part.rename(archive)


def _link(archives: Sequence[Path]) -> Path:
    """The shared library of everything."""
    with folder_of("libraries", [str(path) for path in archives]) as folder:
        library = folder / "libcluster.so"
        if not library.exists():
            # Symbols are bound inside: several libraries in one process have classes of the same names.
            run_tool([
                COMPILER, "-shared", "-Wl,-Bsymbolic", "-Wl,--whole-archive", str(archives[2]),
                "-Wl,--no-whole-archive", *map(str, archives[:2]), *map(str, archives[3:]), "-pthread",
                "-o", str(folder / "new.so"),
            ])
            (folder / "new.so").rename(library)
    return library


def _fst(waves: bool) -> Path | None:
    return _FST if waves else None


@cache
def _design() -> str:
    """Hash of everything that the Verilog is generated from, but for the configuration."""
    digest = hashlib.sha256(version("amaranth").encode())
    for package in ("rtl", "firmware_models.abi", "firmware_models.config"):
        root = Path(str(resources.files(package)))
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{package} {path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _text(name: str) -> str:
    return (_HERE / name).read_text()


def _ports_header(config: Config, design: SimulationVerilog, *, waves: bool) -> str:
    """What the C++ needs to know of a model's ports and of the configuration."""

    def names(macro: str, of: Iterable[object]) -> str:
        return f"#define {macro}(X) " + " ".join(f"X({name})" for name in of) + "\n"

    return (
        f"#pragma once\n#define CONIC_TRACE {int(waves)}\n#define CONIC_FLIT_BYTES {config.datapath.flit_bytes}\n"
        f"#define CONIC_WORDS {str(config.link.reliable).lower()}\n"
        + names("CONIC_INPUTS", design.inputs) + names("CONIC_OUTPUTS", design.outputs)
        + names("CONIC_SWITCH_PORTS", range(config.switch.radix)) + names("CONIC_UNITS", range(config.nic.n_cous))
    )
