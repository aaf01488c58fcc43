"""Builds the library that simulates clusters of one configuration; what was built before is used again."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from importlib import resources
from pathlib import Path

from firmware_models.config import Config, load_preset
from sim.cluster.archive import archive
from sim.cluster.lanes.build import bank_archive, design_archive, waves_archive
from sim.cluster.lanes.machine import isa
from sim.cluster.lanes.netlist import NetlistError
from sim.cluster.verilated import fst_headers, verilated_archive
from sim.environment.engine import Engine, wanted_engine
from sim.report.progress import ProgressCallback
from testbench.toolchain import verilator_version
from testbench.verilated_model import (
    COMPILER,
    ModelBuildError,
    compiler_flags,
    compiler_version,
    folder_of,
    run_tool,
    runtime_archive,
)

_HERE = Path(str(resources.files("sim.cluster")))
_RUNTIME = ("library.cpp", "cluster.cpp", "pack.cpp", "word.cpp", "station.cpp")
_RUNTIME_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fno-gnu-unique", "-Wall", "-Wextra")
LANES = 8
"""Nodes of a word."""


class ClusterBuildError(RuntimeError):
    """A tool refused something; the message holds its output."""


def build_library(
    config: Config, *, waves: bool = False, engine: Engine | None = None, progress: ProgressCallback | None = None,
) -> Path:
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
    engine : Engine, optional
        What evaluates NICs and switches; the one that CONIC_ENGINE says, or the lanes of words.
    progress : callable, optional
        Called with the steps.

    Raises
    ------
    ClusterBuildError
        If a tool fails.
    """
    say = progress or (lambda _stage, _done, _total: None)
    engine = engine or wanted_engine()
    nic_config = replace(config, switch=load_preset("small").switch)
    try:
        with ThreadPoolExecutor(1) as beside:
            # Compilers have work while the NIC, which is the largest, is written.
            say("build: switch", 0, 4)
            switch = _archive_of(engine, "switch", config, waves=waves, pool=beside)
            around = beside.submit(_around, engine, waves=waves)
            say("build: NIC", 1, 4)
            nic = _archive_of(engine, "nic", nic_config, waves=waves, pool=None)
            say("build: cluster", 2, 4)
            archives = [nic.result(), switch.result(), *around.result()]
        say("build: library", 3, 4)
        library = _link(archives)
    except (ModelBuildError, NetlistError) as error:
        raise ClusterBuildError(str(error)) from None
    say("build: done", 4, 4)
    return library


def _archive_of(
    engine: Engine, top: str, config: Config, *, waves: bool, pool: ThreadPoolExecutor | None
) -> "Future[Path]":
    """The archive of NIC or switch, built by `pool` or at once."""
    if engine is Engine.VERILATOR:
        def build() -> Path:
            return verilated_archive(top, config, waves=waves)
    else:
        def build() -> Path:
            lanes = LANES if top == "nic" else 1
            return design_archive(top, config, lanes=lanes, isa=isa(), all_names=waves)
    if pool is not None:
        return pool.submit(build)
    done: Future[Path] = Future()
    done.set_result(build())
    return done


def _around(engine: Engine, *, waves: bool) -> list[Path]:
    """Archives of all that stands around the models, that of the cluster first."""
    if engine is Engine.VERILATOR:
        return [_runtime(), _waves(waves=waves), runtime_archive(fst_headers(waves), shared=True)]
    banks = [bank_archive(lanes=lanes, isa=isa()) for lanes in (1, LANES)]
    return [_runtime(), waves_archive() if waves else _waves(waves=False), *banks]


def _runtime() -> Path:
    """Archive of the cluster around the models: the same for all configurations."""
    headers = [path.name for path in sorted(_HERE.glob("*.h"))]
    parts = [compiler_version(), *_RUNTIME_FLAGS, *map(_text, (*headers, *_RUNTIME))]
    with folder_of("clusters", parts) as folder:
        made = folder / "cluster.a"
        if not made.exists():
            objects = []
            for name in _RUNTIME:
                objects.append(folder / f"{name}.o")
                run_tool([COMPILER, *_RUNTIME_FLAGS, f"-I{_HERE}", "-c", str(_HERE / name), "-o", str(objects[-1])])
            archive(made, objects)
    return made


def _waves(*, waves: bool) -> Path:
    """Archive with what writes waveforms, or with what says that there are none."""
    flags = (
        "-O1", *compiler_flags(fst_headers(waves), shared=True), "-std=c++20", f"-DCONIC_TRACE={int(waves)}",
        f"-I{_HERE}",
    )
    sources = map(_text, ("waves.cpp", "model.h", "traced.h"))
    parts = [compiler_version(), verilator_version(), *flags, *sources]
    with folder_of("waves", parts) as folder:
        made = folder / "waves.a"
        if not made.exists():
            run_tool([COMPILER, *flags, "-c", str(_HERE / "waves.cpp"), "-o", str(folder / "waves.o")])
            archive(made, [folder / "waves.o"])
    return made


def _link(archives: Sequence[Path]) -> Path:
    """The shared library of everything."""
    nic, switch, cluster, *others = map(str, archives)
    with folder_of("libraries", list(map(str, archives))) as folder:
        library = folder / "libcluster.so"
        if not library.exists():
            # Symbols are bound inside: several libraries in one process have classes of the same names.
            run_tool([
                COMPILER, "-shared", "-Wl,-Bsymbolic", "-Wl,--whole-archive", cluster, "-Wl,--no-whole-archive",
                "-Wl,--start-group", nic, switch, *others, "-Wl,--end-group", "-pthread", "-o", str(folder / "new.so"),
            ])
            (folder / "new.so").rename(library)
    return library


def _text(name: str) -> str:
    return (_HERE / name).read_text()
