"""Builds the library that simulates clusters of one configuration; a library that was built before is used again."""

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path

from firmware_models.abi.formats import PACKET_HEADER
from firmware_models.config import Config, SwitchConfig
from rtl.emit import emit_verilog
from rtl.nic.nic import SHARED_UNIT
from sim.report.progress import ProgressCallback
from testbench.toolchain import (
    build_folder,
    discard_precompiled_headers,
    environment,
    verilator_root,
    verilator_version,
)

_SOURCES = ("library.cpp", "cluster.cpp")
_HEADERS = (
    "axi_rules.h", "boundary.h", "cluster.h", "event.h", "fault.h", "link.h", "memory.h", "random_stall.h",
    "register_port.h",
)
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-fno-gnu-unique", "-Wl,-Bsymbolic")
"""The last two keep several libraries in one process apart: each has classes of the same names."""
_OPTIMISE = ("-MAKEFLAGS", "OPT_FAST=-O2 OPT_SLOW=-O0 OPT_GLOBAL=-O2")
_FEWEST_UNITS_APART = 4
"""From so many offload units on, Verilator takes one of them as a model of its own, whose objects the NIC holds. That
costs time in each cycle, but the compiler's time does not grow with the number of units."""
_FST = Path(str(resources.files("testbench"))) / "fst"


class ClusterBuildError(RuntimeError):
    """Verilator or the compiler refused something; the message holds what they said."""


def build_library(config: Config, *, waves: bool = False, progress: ProgressCallback | None = None) -> Path:
    """The shared library for `config`, built if need be.

    NIC, switch and cluster each have a folder named by the hash of all that goes into it: RTL sources, configuration,
    C++ sources, flags, tool versions. So clusters of different switches share their NIC.

    Parameters
    ----------
    config : Config
        What the NICs and switches are made from.
    waves : bool
        Build with support for waveforms, which is slower.
    progress : callable, optional
        Told about the steps.

    Raises
    ------
    ClusterBuildError
        If a tool fails.
    """
    say = progress or (lambda _stage, _done, _total: None)
    say("build: Verilog", 0, 4)
    models = []
    for number, (prefix, top) in enumerate((("VNic", "nic"), ("VSwitch", "switch"))):
        say(f"build: {top}", 1 + number, 4)
        models.append(_verilated(prefix, top, config, waves=waves))
    say("build: cluster", 3, 4)
    library = _cluster(models, _shape_header(config, waves=waves))
    say("build: done", 4, 4)
    return library


def _verilated(prefix: str, top: str, config: Config, *, waves: bool) -> Path:
    """Folder with a static library of C++ class `prefix` made from `top`, built if need be."""
    trace = ["--trace-fst", "--trace-structs", "-CFLAGS", f"-I{_FST}"] if waves else []
    # Cold code is left unoptimised: it is most of the text and takes most of the compiler's time.
    options = [
        "--cc", "--build", "-j", "2", "--assert", "--no-timing", "-Wno-fatal", "-Wno-lint", "-O3",
        "--output-split", "20000", "--x-assign", "unique", "--x-initial", "unique", "-CFLAGS", "-fPIC", *trace,
        "--prefix", prefix,
    ]
    apart = ""
    if top == "nic":
        config = replace(config, switch=SwitchConfig())  # a NIC knows nothing of switches
        if config.nic.n_cous >= _FEWEST_UNITS_APART:
            apart = f'`verilator_config\nhier_block -module "{SHARED_UNIT}"\n'
            options += ["--hierarchical"]
    parts = [_design(), top, repr(config), apart, *options, str(_OPTIMISE), verilator_version()]
    with _folder("models", parts) as folder:
        done = folder / f"lib{prefix}.a"
        if not (folder / "done").exists():
            source = folder / f"{prefix}.v"
            source.write_text(emit_verilog(top, config))
            (folder / "apart.vlt").write_text(apart)
            settings = [str(folder / "apart.vlt")] if apart else []
            _run(["verilator", *options, *_OPTIMISE, "--Mdir", str(folder), *settings, str(source)], folder)
            discard_precompiled_headers(folder)
            (folder / "done").touch()
        assert done.exists()
    return folder


def _cluster(models: list[Path], shape: str) -> Path:
    """The shared library of the cluster around two Verilated models, built if need be."""
    include, sources = verilator_root() / "include", Path(str(resources.files("sim.cluster")))
    parts = [*(str(model) for model in models), shape, *_FLAGS, *map(_source_text, _SOURCES + _HEADERS)]
    with _folder("clusters", parts) as folder:
        library = folder / "libcluster.so"
        if not library.exists():
            (folder / "shape.h").write_text(shape)
            _run([
                "g++", *_FLAGS, "-o", str(folder / "new.so"),
                *(f"-I{path}" for path in (folder, sources, include, include / "vltstd", _FST, *models)),
                *(str(sources / name) for name in _SOURCES),
                *(str(next(model.glob("libV[A-Z]*.a"))) for model in models),
                *(str(path) for model in models for path in model.glob("V*/lib*.a")),  # units that stand apart
                str(models[0] / "libverilated.a"),
                "-lpthread",
            ], folder)
            # Renamed when complete, so that an interrupted build leaves nothing that looks like a library.
            (folder / "new.so").rename(library)
    return library


@contextmanager
def _folder(kind: str, parts: Sequence[str]) -> Iterator[Path]:
    """The folder for what is made from `parts`, locked against other processes."""
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
    folder = build_folder() / "cluster" / kind / key
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


@cache
def _design() -> str:
    """Hash of everything that the Verilog is generated from, but for the configuration."""
    digest = hashlib.sha256(version("amaranth").encode())
    for package in ("rtl", "firmware_models.abi", "firmware_models.config"):
        root = Path(str(resources.files(package)))
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{package} {path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _source_text(name: str) -> str:
    return (resources.files("sim.cluster") / name).read_text()


def _shape_header(config: Config, *, waves: bool) -> str:
    """What the C++ needs to know of the configuration and of the formats."""
    ports = " ".join(f"X({port})" for port in range(config.switch.radix))
    units = " ".join(f"X({unit})" for unit in range(config.nic.n_cous))
    return (
        "#pragma once\n"
        f"#define CONIC_TRACE {int(waves)}\n"
        f"#define CONIC_SWITCH_PORTS(X) {ports}\n"
        f"#define CONIC_UNITS(X) {units}\n"
        "namespace conic {\n"
        f"constexpr unsigned kFlitBytes = {config.datapath.flit_bytes};\n"
        f"constexpr unsigned kHeaderBytes = {PACKET_HEADER.bytes};\n"
        "}\n"
    )


def _run(command: list[str], folder: Path) -> None:
    result = subprocess.run(
        command, cwd=folder, env=environment() | {"TMPDIR": str(folder), "HOME": os.environ.get("HOME", str(folder))},
        capture_output=True, text=True, check=False,
    )
    if result.returncode:
        output = (result.stdout + result.stderr)[-4000:]
        raise ClusterBuildError(f"{command[0]} failed in {folder}:\n{output}")
