"""Makes a program of what Verilator writes, with as little of the compiler's time as possible.

What Verilator writes for a model goes through the compiler as one file. What belongs to Verilator and not to the model
is built once for all models with the same flags: its runtime, as an archive, and its headers, precompiled.
"""

import fcntl
import hashlib
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from testbench.bounded import OutOfTimeError, run_bounded, seconds_left
from testbench.toolchain import cache_folder, environment, verilator_root, verilator_version

COMPILER = "c++"
_UNOPTIMISED = ("-O0",)
_reserve = 5.0
"""Seconds before the verdict of `make test-fast` at which it waits for no tool any more."""
_runtime_sources = ("verilated", "verilated_dpi", "verilated_vpi", "verilated_threads")
_headers = ("verilated.h", "verilated_vpi.h", "verilated_dpi.h", "libgen.h", "memory", "string")
_flags = (
    "-std=gnu++17", "-w",  # generated text, in which warnings of the compiler tell nothing
    "-fno-asynchronous-unwind-tables", "-fcf-protection=none",
)
_verilator_options = (
    # One file, but many functions of bounded size: the compiler's time grows faster than theirs.
    "--output-split", "0", "--output-split-cfuncs", "1000",
)


class ModelBuildError(RuntimeError):
    """Verilator or the compiler refused something; the message holds their output."""


@contextmanager
def folder_of(kind: str, parts: Sequence[str]) -> Iterator[Path]:
    """The cached folder for what is made from `parts`, locked against other processes.

    What stands in it must be complete before its name is what others look for: build aside and rename.
    """
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
    folder = cache_folder() / kind / key
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def build_model(
    folder: Path, verilog: Path, *, top: str, prefix: str, program: str, main: Path, verilator: Sequence[str] = (),
    settings: Sequence[Path] = (), model_flags: Sequence[str] = ("-O0",), flags: Sequence[str] = (),
    libraries: Sequence[str] = (), fst: Path | None = None,
) -> None:
    """Builds `program` in `folder` from the Verilog and the C++ file `main`.

    Parameters
    ----------
    folder : Path
        Where everything is written.
    verilog : Path
        The file with the modules.
    top, prefix : str
        The top module, and the name of its class.
    program : str
        Name of the executable. It appears when it is complete.
    main : Path
        The C++ file with `main`; compiled together with the model.
    verilator : sequence of str
        Options of Verilator.
    settings : sequence of Path
        Verilator control files.
    model_flags : sequence of str
        How far the compiler optimises the model and `main`.
    flags : sequence of str
        Further flags of the compiler.
    libraries : sequence of str
        What is linked besides Verilator's runtime.
    fst : Path, optional
        With it, the program can write waveforms; a folder with headers that Verilator's writer includes.

    Raises
    ------
    ModelBuildError
        If Verilator, the compiler or the linker reports an error, or Verilator a warning that was not switched off.
    """
    trace = ["--trace-fst", "--trace-structs"] if fst else []
    run_tool([
        "verilator", "--cc", "--Mdir", str(folder), "--top-module", top, "--prefix", prefix, *_verilator_options,
        *trace, *verilator, *map(str, settings), str(verilog),
    ])
    common = compiler_flags(fst)
    model = sorted(folder.glob(f"{prefix}*.cpp"))
    # Half of the source runs only once, at the start: it is left unoptimised, which saves compile time.
    slow = [path for path in model if "__Slow" in path.name] if tuple(model_flags) != _UNOPTIMISED else []
    include = _unit(folder / "model.cpp", [*(path for path in model if path not in slow), main])
    objects = []
    if slow:
        objects = [str(folder / "slow.o")]
        run_tool([
            COMPILER, *_UNOPTIMISED, *common, "-include", str(precompiled_header(_UNOPTIMISED, fst)), f"-I{folder}",
            *flags, "-c", str(_unit(folder / "slow.cpp", slow)), "-o", *objects,
        ])
    archive, header = runtime_archive(fst), precompiled_header(tuple(model_flags), fst)
    built = folder / f"{program}.new"
    run_tool([
        COMPILER, *model_flags, *common, "-include", str(header), f"-I{folder}", *flags, str(include), *objects,
        str(archive), *libraries, "-pthread", "-o", str(built),
    ])
    for path in folder.glob(f"{prefix}*"):  # what only the compiler wanted
        if path.suffix in (".cpp", ".h", ".mk", ".d", ".dat") and path.is_file():
            path.unlink()
    built.rename(folder / program)


def _unit(path: Path, sources: Sequence[Path]) -> Path:
    """A file that holds `sources`."""
    path.write_text("".join(f'#include "{source}"\n' for source in sources))
    return path


def run_tool(command: Sequence[str]) -> None:
    """Runs a tool to its end.

    Raises
    ------
    ModelBuildError
        If it fails.
    OutOfTimeError
        If it has no time to end before `make test-fast` gives its verdict.
    """
    left = seconds_left()
    try:
        result = run_bounded(
            command, seconds=None if left is None else max(1.0, left - _reserve), env=environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
    except subprocess.TimeoutExpired:
        raise OutOfTimeError(f"a build ({command[0]}) did not end in time") from None
    if result.returncode:
        raise ModelBuildError(f"{' '.join(command[:1])} failed:\n{(result.stdout + result.stderr)[-8000:]}")


@cache
def compiler_version() -> str:
    """Version text of the compiler; part of the key of everything that it makes."""
    return subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True).stdout


def compiler_flags(fst: Path | None, *, shared: bool = False) -> tuple[str, ...]:
    """Flags for everything that belongs to a model; `shared`: it goes into a shared library."""
    include = verilator_root() / "include"
    traced = int(fst is not None)
    return (
        *_flags, *(("-fPIC", "-fno-gnu-unique") if shared else ()), "-DVERILATOR=1", "-DVM_COVERAGE=0", "-DVM_SC=0",
        "-DVM_TIMING=0", f"-DVM_TRACE={traced}", f"-DVM_TRACE_FST={traced}", "-DVM_TRACE_VCD=0", "-DVM_TRACE_SAIF=0",
        f"-I{include}", f"-I{include / 'vltstd'}", *([f"-I{fst}"] if fst else []),
    )


def runtime_archive(fst: Path | None, *, shared: bool = False) -> Path:
    """Archive of Verilator's runtime."""
    flags = ("-O2", *compiler_flags(fst, shared=shared))
    with folder_of("verilator-runtime", [verilator_version(), compiler_version(), *flags]) as folder:
        archive = folder / "libverilated.a"
        if not archive.exists():
            names = (*_runtime_sources, *(("verilated_fst_c",) if fst else ()))
            for name in names:
                source = verilator_root() / "include" / f"{name}.cpp"
                run_tool([COMPILER, *flags, "-c", str(source), "-o", str(folder / f"{name}.o")])
            new = folder / "new.a"
            new.unlink(missing_ok=True)
            run_tool(["ar", "rcs", str(new), *(str(folder / f"{name}.o") for name in names)])
            new.rename(archive)
    return archive


def precompiled_header(model_flags: tuple[str, ...], fst: Path | None, *, shared: bool = False) -> Path:
    """A header that stands precompiled beside itself; of use to compilations with the same flags only."""
    flags = (*model_flags, *compiler_flags(fst, shared=shared))
    headers = (*_headers, *(("verilated_fst_c.h",) if fst else ()))
    with folder_of("verilator-headers", [verilator_version(), compiler_version(), *headers, *flags]) as folder:
        header = folder / "runtime.h"
        compiled = folder / "runtime.h.gch"
        if not compiled.exists():
            header.write_text("".join(f"#include <{name}>\n" for name in headers))
            new = folder / "new.gch"
            run_tool([COMPILER, *flags, "-x", "c++-header", str(header), "-o", str(new)])
            new.rename(compiled)
    return header
