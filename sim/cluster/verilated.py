"""Builds NICs and switches with Verilator: the second opinion, and what writes waveforms."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

from firmware_models.config import Config
from rtl.simulation import SimulationVerilog, simulation_verilog
from sim.cluster.archive import archive, fst_stubs, sources_hash
from sim.cluster.model_state import state_header
from testbench.toolchain import verilator_version
from testbench.verilated_model import (
    COMPILER,
    compiler_flags,
    compiler_version,
    folder_of,
    precompiled_header,
    run_tool,
)

_HERE = Path(str(resources.files("sim.cluster")))
_VERILATOR = (
    "--cc", "--no-timing", "-Wno-fatal", "-Wno-lint", "--output-split", "20000", "--x-assign", "fast",
    "--x-initial", "unique",
)
# A model's code is longer than the caches that feed a core, and runs through once in a cycle: what -O2 does beyond -O1
# takes half as much again of the compiler's time and gains nothing.
_HOT, _COLD = ("-O1",), ("-O0",)
GENERATED_CODE = (*_HOT, *_COLD)
"""Levels at which GCC 12 makes no vectors of statements, which it gets wrong (docs/cluster.md)."""
_PARTS = 4
"""Files that the hot code is compiled as, so that several cores have work."""
_SOURCES = ("verilated_bank.cpp", "register_at.h", "traced.h", "pins.h", "model.h", "model_state.py")


def fst_headers(waves: bool) -> Path | None:
    """The folder with headers that Verilator's writer of waveforms includes, if there are to be some."""
    return fst_stubs() if waves else None


def verilated_archive(top: str, config: Config, *, waves: bool) -> Path:
    """Archive with the Verilated `top` ("nic" or "switch"), built if need be.

    Raises
    ------
    ModelBuildError
        If Verilator or the compiler fails.
    """
    prefix, flags = f"V{top.capitalize()}", compiler_flags(fst_headers(waves), shared=True)
    key = [
        sources_hash("amaranth", ("rtl", "firmware_models.abi", "firmware_models.config")), top, repr(config),
        str(waves), *_VERILATOR, *_HOT, *_COLD, *flags, verilator_version(), compiler_version(),
        *((_HERE / name).read_text() for name in _SOURCES),
    ]
    with folder_of("models", key) as folder:
        made = folder / "model.a"
        if made.exists():
            return made
        design = simulation_verilog(top, config)
        source = folder / f"{prefix}.v"
        source.write_text(design.text)
        trace = ["--trace-fst", "--trace-structs"] if waves else []
        run_tool([
            "verilator", *_VERILATOR, *trace, "--prefix", prefix, "--top-module", design.top, "--Mdir", str(folder),
            str(source),
        ])
        (folder / "ports.h").write_text(_ports_header(top, config, design, waves=waves))
        (folder / "state.h").write_text(state_header(folder, prefix, design.top))
        archive(made, _compile(folder, prefix, [_HERE / "verilated_bank.cpp"], waves=waves))
    return made


def _compile(folder: Path, prefix: str, beside: Sequence[Path], *, waves: bool) -> list[Path]:
    """Objects of all that Verilator has written for a class, and of the files beside it."""
    fst = fst_headers(waves)
    common = (*compiler_flags(fst, shared=True), "-std=c++20", f"-I{folder}", f"-I{_HERE}")
    written = sorted(folder.glob(f"{prefix}*.cpp"))
    cold = [path for path in written if path.stem.endswith("Slow")]
    often = [path for path in written if path not in cold]
    groups = [(_COLD, group) for group in _balanced(cold, 2)] + [(_HOT, group) for group in _balanced(often, _PARTS)]
    headers = {flags: precompiled_header(flags, fst, shared=True) for flags in (_HOT, _COLD)}

    def compiled(number: int) -> Path:
        made = folder / f"part{number}.o"
        if number == len(groups):
            run_tool([COMPILER, *_HOT, *common, "-c", *map(str, beside), "-o", str(made)])
            return made
        flags, group = groups[number]
        text = folder / f"part{number}.cpp"
        text.write_text("".join(f'#include "{path}"\n' for path in group))
        run_tool([
            COMPILER, *flags, *compiler_flags(fst, shared=True), f"-I{folder}", f"-I{_HERE}", "-include",
            str(headers[flags]), "-c", str(text), "-o", str(made),
        ])
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compiled, range(len(groups) + 1)))


def _balanced(paths: Iterable[Path], count: int) -> list[list[Path]]:
    """`paths` in `count` groups of about the same size."""
    groups: list[list[Path]] = [[] for _ in range(count)]
    sizes = [0] * count
    for path in sorted(paths, key=lambda path: -path.stat().st_size):
        least = sizes.index(min(sizes))
        groups[least].append(path)
        sizes[least] += path.stat().st_size
    return [group for group in groups if group]


def _ports_header(top: str, config: Config, design: SimulationVerilog, *, waves: bool) -> str:
    """Header with a model's ports and the configuration, for the C++."""

    def names(macro: str, of: Iterable[object]) -> str:
        return f"#define {macro}(X) " + " ".join(f"X({name})" for name in of) + "\n"

    is_nic = top == "nic"
    return (
        f"#pragma once\n#define CONIC_TRACE {int(waves)}\n#define CONIC_FLIT_BYTES {config.datapath.flit_bytes}\n"
        f"#define CONIC_WORDS {str(config.link.reliable).lower()}\n#define CONIC_TOP V{top.capitalize()}\n"
        f"#define CONIC_SETTLE V{top.capitalize()}___024root___eval_settle\n"
        f"#define CONIC_MAKE {'make_nics' if is_nic else 'make_switches'}\n"
        f"#define CONIC_LANES {'kNicLanes' if is_nic else 'kSwitchLanes'}\n"
        + names("CONIC_INPUTS", design.inputs) + names("CONIC_OUTPUTS", design.outputs)
    )
