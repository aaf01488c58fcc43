"""Programs in C++ around a Verilated unit: for checks that are too many for Python."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from testbench.toolchain import environment, verilator_version
from testbench.verilated_model import ModelBuildError, build_model, compiler_version, folder_of

_model_flags = ("-O1",)


class VerilatedProgramError(RuntimeError):
    """A program does not build, or does not run to its end; the message holds the output."""


def build_program(
    kind: str, text: str, *, top: str, main: Path, headers: Sequence[Path] = (),
    generated: Mapping[str, str] | None = None, flags: Sequence[str] = (), options: Sequence[str] = (),
) -> Path:
    """Builds a program and returns its path; kept in a folder named by the hash of all that goes into it.

    Parameters
    ----------
    kind : str
        Folder of its kind in the cache.
    text : str
        Verilog of the unit.
    top : str
        Its top module; the class of the model is ``V`` and this name.
    main : Path
        The C++ file with `main`.
    headers : sequence of Path
        Headers beside it that it includes.
    generated : mapping of str to str
        Names and texts of headers that are made for this build.
    flags : sequence of str
        Further flags of the compiler.
    options : sequence of str
        Further options of Verilator.

    Raises
    ------
    VerilatedProgramError
        If Verilator or the compiler refuses it.
    """
    made = {} if generated is None else dict(generated)
    verilator = ["-O3", "-Wno-fatal", "-Wno-lint", "-Wno-style", *options]
    contents = [text, *(path.read_text() for path in (main, *headers)), *made, *made.values()]
    name = f"V{top}"
    with folder_of(
        kind, [verilator_version(), compiler_version(), *verilator, *_model_flags, *flags, top, *contents]
    ) as folder:
        program = folder / name
        if not program.exists():
            source = folder / f"{top}.v"
            source.write_text(text)
            for header_name, header in made.items():
                (folder / header_name).write_text(header)
            try:
                build_model(
                    folder, source, top=top, prefix=name, program=name, main=main, verilator=verilator,
                    model_flags=_model_flags, flags=[f"-I{main.parent}", *flags],
                )
            except ModelBuildError as error:
                raise VerilatedProgramError(str(error)) from None
    return program


def run(
    command: Sequence[str], *, allowed: tuple[int, ...] = (0,), text: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end in the environment of the tools, with `text` on its standard input.

    Raises
    ------
    VerilatedProgramError
        If its exit code is not one of those `allowed`.
    """
    result = subprocess.run(command, env=environment(), capture_output=True, text=True, input=text, check=False)
    if result.returncode not in allowed:
        raise VerilatedProgramError(f"{command[0]} failed ({result.returncode}):\n{result.stdout}{result.stderr}")
    return result
