"""`conic bench latency`: cycles of an unloaded NIC, on the RTL, and nanoseconds at the speed of its core."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from firmware_models.config import ConfigError
from sim.bench.core_speed import (
    FIGURES,
    IN_NANOSECONDS,
    CoreSpeed,
    SpeedError,
    frequency,
    measured_speed,
    with_nanoseconds,
)
from sim.bench.latency import REQUIRED, holds, measure, sweep, with_widths
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.hardware import hardware, hardware_options
from sim.cli.shared.number import Number
from sim.cli.shared.refusal import fails, refuses
from testbench.runner import BenchError


class Megahertz(click.ParamType[float]):
    """A frequency on the command line."""

    name = "MHz"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return frequency(value)
        except SpeedError as error:
            self.fail(str(error), param, ctx)


@click.command("latency", epilog=example("conic bench latency --json"))
@hardware_options
@click.option("--units", type=Number(1, 16),
              help="Offload units, a power of two; the others are idle anyway.  [default: those of the preset]")
@click.option("--sweep", "sweeping", is_flag=True, help="64, 128 and 256 bits as well, with one unit each.")
@click.option("--fmax", type=Megahertz(), metavar="MHZ",
              help="Clock of the nanoseconds.  [default: what docs/figures/core.json has measured]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses(ConfigError, SpeedError)
@fails(BenchError)
def latency(
    *, preset: str | None, config: Path | None, units: int | None, sweeping: bool, fmax: float | None, as_json: bool,
) -> int:
    """Trigger, reduce hop, doorbell to first flit: one operation at a time, nothing stalls."""
    name, tree = hardware(preset, config)
    # Before anything is built: a file of figures that says nothing sensible is refused at once.
    speed = measured_speed(name, FIGURES) if fmax is None else CoreSpeed(fmax_mhz=fmax)
    if units is not None:
        if units & (units - 1):
            raise click.UsageError(f"--units: must be a power of two from 1 to 16, not {units}")
        tree = replace(tree, nic=replace(tree.nic, n_cous=units))
    with progress_bars() as progress:
        progress("the NIC in its bench", 0, 1)
        report = with_nanoseconds(measure(tree) | {"preset": name}, speed)
        progress("the NIC in its bench", 1, 1)
        rows = sweep(tree, progress=progress) if sweeping else []
    if sweeping:
        report = with_widths(report, rows)
    if speed.fmax_mhz is None:
        click.echo(f"nanoseconds are left out: {FIGURES} is not there; --fmax MHZ says a clock", err=True)
    if as_json:
        answer(report, as_json=True)
    else:
        _print(report, rows)
    return 0 if all(holds(one) for one in (report, *rows)) else 1


def _print(report: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    console = Console(width=None if Console().is_terminal else 120)
    for time, name in IN_NANOSECONDS.items():
        most = f" (at most {REQUIRED[name]})" if name in REQUIRED else ""
        at = "" if report[time] is None else f", {report[time]} ns at {report['fmax_mhz']} MHz"
        console.print(f"{name.replace('_', ' ')}: {report[name]}{most}{at}", highlight=False)
    hops = Table("data width", "bytes", "hop", "header to header", "last flit in to sum out", "trigger")
    for one in (report, *rows):
        for row in one["hops"]:
            hops.add_row(*(str(value) for value in (
                one["data_width"], row["bytes"], row["hop_cycles"], row["header_hop_cycles"],
                row["after_last_flit_cycles"], row["trigger_cycles"],
            )))
    console.print(hops)
    for title, one in (("hop of the smallest packet", report["hops"][0]),
                       ("8 bytes in the descriptor", next(iter(report["doorbells"].values())))):
        stages = Table(title, "cycle")
        for stage, cycle in one["stages"].items():
            stages.add_row(stage, str(cycle))
        console.print(stages)
    waits = Table("trigger: the packet that comes last", "cycles")
    for what, cycles in report["triggers"].items():
        waits.add_row(what, str(cycles))
    console.print(waits)
    doorbells = Table("doorbell to first flit", "cycles", "of these in host memory", "reads")
    for what, row in report["doorbells"].items():
        doorbells.add_row(
            what, str(row["cycles"]), str(row["memory_reads"] * row["memory_cycles"]), str(row["memory_reads"])
        )
    console.print(doorbells)
