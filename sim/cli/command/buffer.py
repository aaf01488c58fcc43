"""`conic buffer`: the tag table of the packet buffer at a given load, on the RTL."""

import random
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from sim.buffer.measure import LOADS, measure, sweep
from sim.buffer.plot import plot_curves
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.number import Decimal, Number
from sim.cli.shared.paths import OUTPUT_FILE_ANYWHERE
from sim.cli.shared.refusal import fails, refuses
from testbench.buffer.key_patterns import PATTERNS
from testbench.buffer.table_driver import MODES, LoadError
from testbench.verilated_program import VerilatedProgramError

ENTRIES = 4096


@click.command("buffer", epilog=example("conic buffer --load 0.95 --operations 200000 --sweep --plot build/buffer.svg"))
@click.option("--load", type=Decimal(0, above=True, high=1),
              help="Keys over entries, above 0 and at most 1.  [default: 0.95, linear 0.90]")
@click.option("--operations", type=Number(1, 10**9), default=200_000, show_default=True,
              help="Insertions, removals and look-ups that are checked.")
@click.option("--mode", default="cuckoo", show_default=True, help=f"{', '.join(MODES)}.")
@click.option("--keys", default="structured", show_default=True, help=f"{', '.join(PATTERNS)}.")
@click.option("--entries", type=Number(32, 1 << 16), default=ENTRIES, show_default=True,
              help="Entries of the table, a power of two.")
@click.option("--seed", type=Number(0), help="Of keys and pauses; drawn and printed if not given.")
@click.option("--sweep", "sweeping", is_flag=True, help="Both modes at several loads as well.")
@click.option("--plot", type=OUTPUT_FILE_ANYWHERE, help="Curves of the sweep, SVG or PNG.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses(LoadError)
@fails(VerilatedProgramError)
def command(
    *, load: float | None, operations: int, mode: str, keys: str, entries: int, seed: int | None, sweeping: bool,
    plot: Path | None, as_json: bool,
) -> int:
    """Fills the table, keeps it full while keys come and go, and checks every answer against a map in C++."""
    for flag, value, allowed in (("--mode", mode, MODES), ("--keys", keys, PATTERNS)):
        if value not in allowed:
            raise click.UsageError(f"{flag}: must be one of {', '.join(allowed)}, not {value!r}")
    load = {"cuckoo": 0.95, "linear": 0.9}[mode] if load is None else load
    if entries & (entries - 1):
        raise click.UsageError(f"--entries: must be a power of two, not {entries!r}")
    if plot is not None and plot.suffix not in (".svg", ".png"):
        raise click.UsageError(f"--plot: must end in .svg or .png, not {str(plot)!r}")
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    with progress_bars() as progress:
        report = measure(
            mode=mode, entries=entries, load=load, operations=operations, keys=keys, seed=seed, progress=progress,
        )
        rows = []
        if sweeping or plot is not None:
            rows = sweep(loads=LOADS, entries=entries, operations=operations, keys=keys, seed=seed, progress=progress)
            report["sweep"] = rows
    if plot is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
        plot_curves(rows, plot)
        report["plot"] = str(plot)
    if as_json:
        answer(report, as_json=True)
    else:
        _print(report, rows)
    return 0 if not report["failures"] and not report["mismatches"] else 1


def _print(report: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    console = Console(width=None if Console().is_terminal else 120)
    table = Table("mode", "load", "reached", "operations", "failures", "mismatches", "look-up cycles",
                  "insertion steps, mean / max", "stash peak", "operations / cycle")
    for row in [report, *rows]:
        look, steps = row["lookup_cycles"], row["insert_steps"]
        table.add_row(
            row["mode"], f"{row['load']:.2f}", f"{row['load_peak']:.3f}", f"{row['operations']:,}",
            str(row["failures"]), str(row["mismatches"]), f"{look['min']} to {look['max']}",
            f"{steps['mean']:.2f} / {steps['max']}",
            str(row["stash_peak"]), f"{row['operations_per_cycle']:.2f}",
        )
    console.print(table)
    console.print(f"{report['entries']} entries, {report['keys']} keys, seed {report['seed']}", highlight=False)
