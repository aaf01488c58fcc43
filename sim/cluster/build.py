"""Builds the library that simulates clusters of one configuration; a library that was built before is used again."""

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from firmware_models.abi.formats import PACKET_HEADER
from firmware_models.config import Config
from rtl.emit import emit_verilog
from sim.report.progress import ProgressCallback
from testbench.toolchain import build_folder, environment, verilator_root, verilator_version

_SOURCES = ("library.cpp", "cluster.cpp")
_HEADERS = ("cluster.h", "event.h", "link.h", "memory.h", "random_stall.h", "register_port.h")
_FST = Path(str(resources.files("testbench"))) / "fst"


class ClusterBuildError(RuntimeError):
    """Verilator or the compiler refused something; the message holds what they said."""


def build_library(config: Config, *, waves: bool = False, progress: ProgressCallback | None = None) -> Path:
    """The shared library for `config`, built if need be.

    The folder is named by the hash of all that goes into it: Verilog, C++ sources, flags, tool version.

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
    verilog = {"VNic": emit_verilog("nic", config), "VSwitch": emit_verilog("switch", config)}
    shape = _shape_header(config, waves=waves)
    key = _content_hash([*verilog.values(), shape, *map(_source_text, _SOURCES + _HEADERS), verilator_version()])
    folder = build_folder() / "cluster" / key
    library = folder / "libcluster.so"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if library.exists():
            say("build: found", 4, 4)
            return library
        (folder / "shape.h").write_text(shape)
        for number, (prefix, text) in enumerate(verilog.items()):
            say(f"build: {prefix.removeprefix('V').lower()}", 1 + number, 4)
            _verilate(folder, prefix, text, waves=waves)
        say("build: cluster", 3, 4)
        _link(folder, list(verilog), waves=waves)
    say("build: done", 4, 4)
    return library


def _source_text(name: str) -> str:
    return (resources.files("sim.cluster") / name).read_text()


def _content_hash(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


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


def _verilate(folder: Path, prefix: str, text: str, *, waves: bool) -> None:
    """Turns a Verilog file into a static library of C++ class `prefix`."""
    source = folder / f"{prefix}.v"
    source.write_text(text)
    trace = ["--trace-fst", "--trace-structs", "-CFLAGS", f"-I{_FST}"] if waves else []
    _run([
        "verilator", "--cc", "--build", "-j", "2", "--assert", "--no-timing", "-Wno-fatal", "-Wno-lint",
        "--x-assign", "unique", "--x-initial", "unique", "-O3", "-CFLAGS", "-O2 -fPIC", *trace,
        "--output-split", "20000", "--prefix", prefix, "--Mdir", str(folder / prefix), str(source),
    ], folder)


def _link(folder: Path, prefixes: list[str], *, waves: bool) -> None:
    include = verilator_root() / "include"
    sources = Path(str(resources.files("sim.cluster")))
    runtime = next((folder / prefixes[0]).glob("libverilated.a"))
    temporary = folder / "libcluster.so.new"
    _run([
        "g++", "-std=c++17", "-O2", "-fPIC", "-shared", "-o", str(temporary),
        f"-I{folder}", f"-I{sources}", f"-I{include}", f"-I{include / 'vltstd'}", *([f"-I{_FST}"] if waves else []),
        *(f"-I{folder / prefix}" for prefix in prefixes),
        *(str(sources / name) for name in _SOURCES),
        *(str(folder / prefix / f"lib{prefix}.a") for prefix in prefixes), str(runtime), "-lpthread",
    ], folder)
    # Renamed when complete, so that an interrupted build leaves nothing that looks like a library.
    temporary.rename(folder / "libcluster.so")


def _run(command: list[str], folder: Path) -> None:
    result = subprocess.run(
        command, cwd=folder, env=environment() | {"TMPDIR": str(folder), "HOME": os.environ.get("HOME", str(folder))},
        capture_output=True, text=True, check=False,
    )
    if result.returncode:
        output = (result.stdout + result.stderr)[-4000:]
        raise ClusterBuildError(f"{command[0]} failed in {folder}:\n{output}")
