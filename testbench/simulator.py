"""Builds the simulation of a Verilog file, once for equal content."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import cocotb_tools.config
from cocotb_tools.runner import Runner, get_runner

from testbench.toolchain import environment, verilator_version
from testbench.verilated_model import ModelBuildError, build_model, compiler_version, folder_of

_fst = Path(__file__).with_name("fst")

_timescale = ("1ns", "1ps")
_verilator_options = (
    "--vpi",
    "--assert",
    "--no-timing",
    "--timescale", "/".join(_timescale),
    # All other warnings are errors. These say nothing about generated Verilog: its widths are right by construction,
    # signals of no width are printed as ranges, parameters make comparisons constant, a value is assigned before
    # each case, a real combinational loop (unlike one through parts of a vector) does not converge, which is fatal, and
    # what starts combinational blocks is assigned without blocking (rtl.kit.library).
    "-Wno-WIDTHTRUNC",
    "-Wno-WIDTHEXPAND",
    "-Wno-ASCRANGE",
    "-Wno-CASEINCOMPLETE",
    "-Wno-UNOPTFLAT",
    "-Wno-UNSIGNED",
    "-Wno-CMPCONST",
    "-Wno-INITIALDLY",
)
_icarus_options = ("-g2012",)
MODEL_FLAGS = ("-O0",)
"""A bench spends its time in Python: optimised code would cost more to compile than it saves."""


class BuildError(RuntimeError):
    """The simulator refused the Verilog; the message holds its output."""


def simulator_name() -> str:
    """The simulator in use: SIM of the environment, `verilator` if it is not set."""
    name = os.environ.get("SIM", "verilator")
    if name not in ("verilator", "icarus"):
        raise ValueError(f"SIM must be verilator or icarus, not {name!r}")
    return name


@contextmanager
def tool_environment() -> Iterator[None]:
    """Runs its body with the environment of the tools in `os.environ`, where cocotb's runner looks for it."""
    before = dict(os.environ)
    if simulator_name() == "verilator":
        os.environ.update(environment())
    # cocotb's runner behaves differently, and ends the process, if it thinks that pytest is its caller.
    os.environ.pop("PYTEST_CURRENT_TEST", None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def build(
    verilog: str, *, top: str, waves: bool = False, model_flags: Sequence[str] = MODEL_FLAGS,
    watched: Sequence[str] = (),
) -> tuple[Runner, Path]:
    """Builds the simulation of `verilog` in a folder named by the hash of all that goes into it.

    A folder that was built before is used as it is. Processes that want the same one wait for each other. A bench sees
    the ports of `top` and nothing inside but signals with names that are `watched` (patterns): Verilator may then drop
    and merge all other signals.

    Returns
    -------
    tuple of Runner and Path
        cocotb's runner, ready for ``test``, and the folder.

    Raises
    ------
    BuildError
        If the simulator or the compiler reports an error or a warning.
    """
    simulator = simulator_name()
    if simulator == "verilator":
        tools = [*_verilator_options, *model_flags, *watched, verilator_version(), compiler_version()]
    else:
        tools = [*_icarus_options]
    parts = [simulator, *tools, version("cocotb"), f"waves={waves}", top, verilog]
    with tool_environment(), folder_of("benches", parts) as folder:
        runner = get_runner(simulator)
        runner.log.setLevel("ERROR")
        runner.build_dir = folder
        done = folder / "done"
        if not done.exists():
            source = folder / f"{top}.v"
            source.write_text(verilog)
            if simulator == "verilator":
                _build_with_verilator(source, top, waves=waves, model_flags=model_flags, watched=watched)
            else:
                _build_with_icarus(runner, source, top, waves=waves)
            done.touch()
    return runner, folder


def _build_with_verilator(
    source: Path, top: str, *, waves: bool, model_flags: Sequence[str], watched: Sequence[str]
) -> None:
    """Builds the model that cocotb's runner builds, but only the ports of `top`, and the `watched` signals, are public,
    and in a third of the time."""
    settings = source.with_name("public.vlt")
    seen = "".join(f'public_flat_rd -module "*" -var "{pattern}"\n' for pattern in watched)
    settings.write_text(f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n{seen}')
    libraries = cocotb_tools.config.libs_dir
    try:
        build_model(
            source.parent, source, top=top, prefix="Vtop", program=top, verilator=_verilator_options,
            main=cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp", settings=[settings],
            model_flags=model_flags, fst=_fst if waves else None,
            libraries=[f"-Wl,-rpath,{libraries}", f"-L{libraries}", "-lcocotbvpi_verilator"],
        )
    except ModelBuildError as error:
        raise BuildError(f"verilator refused {source}:\n{error}") from None


def _build_with_icarus(runner: Runner, source: Path, top: str, *, waves: bool) -> None:
    log = source.with_name("build.log")
    try:
        runner.build(
            sources=[source], hdl_toplevel=top, build_args=[*_icarus_options], build_dir=source.parent, always=True,
            waves=waves, timescale=_timescale, log_file=log,
        )
    except RuntimeError:
        raise BuildError(f"icarus refused {source}:\n{log.read_text()}") from None
