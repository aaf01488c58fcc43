"""`conic fp`: the floating-point units against TestFloat's vectors, and what they take and reach on an FPGA."""

import os
import stat
import sys
from pathlib import Path
from typing import Any, BinaryIO

import click
from rich.console import Console
from rich.table import Table

from fpga.place import PlacementError
from fpga.reduce_figures import measure_adder
from fpga.synthesis import SynthesisError
from rtl.reduce.float_add import CUTS, DEFAULT_CYCLES
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.idle import refuse_idle
from sim.cli.shared.number import Number
from sim.cli.shared.refusal import refuses
from testbench.reduce.testfloat import FUNCTIONS, TestFloatError, run_testfloat
from testbench.verilated_program import VerilatedProgramError


@click.command("fp", epilog=example("conic fp --testfloat vectors.txt --function f64_add --json"))
@click.option("--testfloat", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
              help="A file of testfloat_gen's lines, or - for standard input: run through the RTL and compared.")
@click.option("--function", default="f64_add", show_default=True,
              help=f"TestFloat's function that the lines are of: {', '.join(FUNCTIONS)}.")
@click.option("--cycles", type=Number(min(CUTS), max(CUTS)), default=DEFAULT_CYCLES, show_default=True,
              help="Depth of the unit under --testfloat.")
@click.option("--bench", is_flag=True, help="Synthesise, place and route the adder at every depth (minutes).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses(TestFloatError)
def command(*, testfloat: Path | None, function: str, cycles: int, bench: bool, as_json: bool) -> int:
    """Checks the floating-point units against TestFloat vectors, or measures the adder on an ECP5."""
    if bench == (testfloat is not None):
        raise click.UsageError("one of --testfloat FILE and --bench is required, and not both")
    if bench:
        refuse_idle(("function", "cycles"), "with --bench, which measures the adder at every depth")
        return _bench(as_json=as_json)
    assert testfloat is not None
    if function not in FUNCTIONS:
        raise click.UsageError(f"--function: must be one of {', '.join(FUNCTIONS)}, not {function!r}")
    if str(testfloat) == "-":
        return _testfloat(sys.stdin.buffer, function=function, cycles=cycles, as_json=as_json)
    with testfloat.open("rb") as file:
        return _testfloat(file, function=function, cycles=cycles, as_json=as_json)


def _testfloat(file: BinaryIO, *, function: str, cycles: int, as_json: bool) -> int:
    line_bytes = 3 * (FUNCTIONS[function].format.width // 4 + 1) + len("00\n")
    status = os.fstat(file.fileno())
    expected = status.st_size // line_bytes if stat.S_ISREG(status.st_mode) else None
    with progress_bars() as progress:
        progress("building the unit", 0, 1)
        try:
            report = run_testfloat(
                file, function=function, cycles=cycles,
                progress=lambda vectors: progress("vectors", vectors, max(vectors, expected or 0)),
            )
        except VerilatedProgramError as error:
            raise click.ClickException(str(error)) from error
    for line in report.shown:
        click.echo(line, err=True)
    answer({
        "function": function, "cycles": cycles, "vectors": report.vectors, "mismatches": report.mismatches,
    }, as_json=as_json)
    return 1 if report.mismatches else 0


def _bench(*, as_json: bool) -> int:
    with progress_bars() as progress:
        try:
            figures = measure_adder(progress=progress)
        except (PlacementError, SynthesisError) as error:
            raise click.ClickException(str(error)) from error
    if as_json:
        answer(figures, as_json=True)
    else:
        Console().print(_table(figures))
    return 0


def _table(figures: dict[str, Any]) -> Table:
    table = Table(
        title=f"{figures['unit']} on {figures['device']}, speed {figures['speed']}, seeds {figures['seeds']}",
        caption="default depth: {stages} cycles; UltraScale+ LUT {lut}, FF {ff}, DSP {dsp}".format(
            stages=figures["stages"], **figures["xilinx"]),
    )
    for heading in ("cycles", "best MHz", "median MHz", "latency ns", "LUT4", "LUT4eq", "FF", "DSP"):
        table.add_column(heading, justify="right")
    for row in figures["depths"]:
        rates = row["fmax_mhz"]
        counts = (row[key] for key in ("latency_ns", "lut4", "lut4eq", "ff", "dsp"))
        table.add_row(*map(str, (row["cycles"], rates["best"], rates["median"], *counts)))
    return table
