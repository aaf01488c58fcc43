"""Builds NICs and switches for the lanes of words; what was built before is used again."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

from firmware_models.config import Config
from rtl.simulation import simulated
from sim.cluster.archive import archive, fst_stubs, sources_hash
from sim.cluster.lanes.generate import generate
from sim.cluster.lanes.machine import Isa
from testbench.toolchain import verilator_root, verilator_version
from testbench.verilated_model import COMPILER, compiler_version, folder_of, run_tool

_HERE = Path(str(resources.files("sim.cluster")))
_ROOM = _HERE / "lanes"
_FLAGS = ("-std=c++20", "-fPIC", "-fno-gnu-unique", "-w", "-fno-asynchronous-unwind-tables", "-fcf-protection=none")
# The code of a design is longer than the caches that feed a core: what -O2 does beyond -O1 gains nothing, and takes
# twice the compiler's time (docs/cluster.md).
_HOT, _RUNTIME, _TABLES = "-O1", "-O2", "-O0"
GENERATED_CODE = (_HOT, _TABLES)
"""Levels at which GCC 12 makes no vectors of statements, which it gets wrong (docs/cluster.md)."""
_FILES = 6
"""Files of a design's code, so that several cores have work."""


def design_archive(top: str, config: Config, *, lanes: int, isa: Isa, all_names: bool = False) -> Path:
    """Archive with the code of `top` ("nic" or "switch") for words of so many lanes; with `all_names` all values that
    have a name are kept, for waveforms.

    Raises
    ------
    ModelBuildError
        If the compiler fails.
    """
    flags = (*_FLAGS, *isa.flags, f"-DLANES={lanes}", f"-DCONIC_ISA={isa.code}", f"-I{_ROOM}", f"-I{_HERE}")
    parts = [design_key(), top, repr(config), compiler_version(), *flags, _HOT, _TABLES, str(_FILES), str(all_names)]
    with folder_of("lanes", parts) as folder:
        made = folder / "design.a"
        if made.exists():
            return made
        boundary, ports = simulated(top, config)
        found = generate(
            f"conic_{top}", boundary, lanes=lanes, symbol=f"{top}_design", n_files=_FILES, ports=ports,
            flit_bytes=config.datapath.flit_bytes, all_names=all_names,
        )
        texts = {f"part{number}": (text, _HOT) for number, text in enumerate(found.files)}
        texts["tables"] = (found.tables, _TABLES)
        texts["bank_of"] = (_bank_of(top, lanes), _TABLES)
        archive(made, _compiled(folder, texts, flags))
    return made


def bank_archive(*, lanes: int, isa: Isa) -> Path:
    """Archive with what carries out the code of designs for words of so many lanes: the same for all of them."""
    flags = (*_FLAGS, *isa.flags, f"-DLANES={lanes}", f"-DCONIC_ISA={isa.code}", f"-I{_ROOM}", f"-I{_HERE}")
    headers = (*sorted(_ROOM.glob("*.h")), _HERE / "model.h", _HERE / "pins.h")
    sources = [path.read_text() for path in (_ROOM / "bank.cpp", *headers)]
    with folder_of("lanes", [compiler_version(), *flags, _RUNTIME, *sources]) as folder:
        made = folder / "bank.a"
        if not made.exists():
            archive(made, _compiled(folder, {"bank": (sources[0], _RUNTIME)}, flags))
    return made


def waves_archive() -> Path:
    """Archive with what writes waveforms, and with the writer of FST files that comes with Verilator."""
    include = verilator_root() / "include"
    flags = (*_FLAGS, f"-I{_HERE}", f"-I{include}", f"-I{fst_stubs()}")
    sources = [(_ROOM / "waves.cpp").read_text(), (_HERE / "model.h").read_text()]
    with folder_of("lanes", [compiler_version(), verilator_version(), *flags, *sources]) as folder:
        made = folder / "waves.a"
        if not made.exists():
            writer = "".join(
                f'#include "fstcpp/fstcpp_{part}.cpp"\n' for part in ("variable_info", "writer")
            )
            archive(made, _compiled(folder, {"waves": (sources[0], "-O1"), "writer": (writer, "-O2")}, flags))
    return made


def design_key() -> str:
    """Hash of all that a design's code is made from, but for the configuration."""
    return sources_hash("amaranth", ("rtl", "firmware_models.abi", "firmware_models.config", "sim.cluster.lanes"))


def _bank_of(top: str, lanes: int) -> str:
    made, number = ("make_nics", "kNicLanes") if top == "nic" else ("make_switches", "kSwitchLanes")
    return (
        '#include "design.h"\n#include "model.h"\n'
        f"namespace conic {{\nnamespace lanes {{\nextern const Design {top}_design;\n"
        f"std::unique_ptr<Bank> make_bank_of_{lanes}(const Design&, const std::vector<Born>&);\n}}\n"
        f"const unsigned {number} = {lanes};\n"
        f"std::unique_ptr<Bank> {made}(const std::vector<Born>& born, void*) {{\n"
        f"    return lanes::make_bank_of_{lanes}(lanes::{top}_design, born);\n}}\n}}\n"
    )


def _compiled(folder: Path, texts: dict[str, tuple[str, str]], flags: Sequence[str]) -> list[Path]:
    def compiled(name: str) -> Path:
        text, optimised = texts[name]
        source, made = folder / f"{name}.cpp", folder / f"{name}.o"
        source.write_text(text)
        run_tool([COMPILER, optimised, *flags, "-c", str(source), "-o", str(made)])
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compiled, texts))
