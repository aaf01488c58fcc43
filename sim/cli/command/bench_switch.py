"""`conic bench switch`: hop and throughput of the switch at full load, on the RTL."""

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from firmware_models.config import ConfigError
from sim.bench.switch import REQUIRED, measure, sweep, switch_of
from sim.bench.switch_plot import plot_throughput
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.hardware import hardware, hardware_options
from sim.cli.shared.number import Number
from sim.cli.shared.paths import OUTPUT_FILE_ANYWHERE
from sim.cli.shared.refusal import fails, refuses
from testbench.verilated_program import VerilatedProgramError

BUFFER_FLITS = 4096
"""Deep enough that the matching is measured: the most that a switch can have, 15 mtu packets an input (`small`).

With less the buffer decides: docs/decisions/0038-the-switch-is-measured-with-4096-flits.md.
"""
SWEEP = ((4, 64), (4, 512), (4, 2048), (8, 64), (8, 256), (8, 512), (8, 1024), (8, 2048), (16, 64), (16, 2048))
"""Radix, and flits of a buffer."""


@click.command("switch", epilog=example("conic bench switch --radix 8 --plot build/switch.svg"))
@hardware_options
@click.option("--radix", type=Number(2, 64), help="Ports.  [default: those of the preset]")
@click.option("--buffer-flits", type=Number(16, 4096), default=BUFFER_FLITS, show_default=True,
              help="Credits of a link for each channel, a power of two; what the preset has is reported beside it.")
@click.option("--cycles", type=Number(1000, 10**8), default=100_000, show_default=True,
              help="Cycles of each measurement.")
@click.option("--seed", type=Number(0), default=1, show_default=True, help="Of destinations and sets.")
@click.option("--sweep", "sweeping", is_flag=True, help="Radix 4, 8, 16 and buffers from 64 to 2,048 flits as well.")
@click.option("--plot", type=OUTPUT_FILE_ANYWHERE, help="Throughput, SVG or PNG; with --sweep.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses(ConfigError)
@fails(VerilatedProgramError)
def switch(
    *, preset: str | None, config: Path | None, radix: int | None, buffer_flits: int, cycles: int, seed: int,
    sweeping: bool, plot: Path | None, as_json: bool,
) -> int:
    """All ports send as fast as they can, to random ports, one hot port, and random sets; every packet is checked."""
    if not 16 <= buffer_flits <= 4096 or buffer_flits & (buffer_flits - 1):
        raise click.UsageError(f"--buffer-flits: must be a power of two from 16 to 4096, not {buffer_flits}")
    if plot is not None and plot.suffix not in (".svg", ".png"):
        raise click.UsageError(f"--plot: must end in .svg or .png, not {str(plot)!r}")
    name, hardware_config = hardware(preset, config)
    ports = hardware_config.switch.radix if radix is None else radix
    with progress_bars() as progress:
        one = switch_of(hardware_config, radix=ports, buffer_flits=buffer_flits)
        report = measure(one, cycles=cycles, seed=seed, progress=progress) | {"preset": name}
        own = hardware_config.link.buffer_flits
        report["with_preset_buffer"] = sweep(
            hardware_config, sizes=[(ports, own)], cycles=cycles, seed=seed, progress=progress,
        )[0]
        rows = []
        if sweeping or plot is not None:
            rows = sweep(
                hardware_config, sizes=SWEEP, cycles=cycles, seed=seed, progress=progress,
            )
            report["sweep"] = rows
    if plot is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
        plot_throughput(report, rows, plot)
        report["plot"] = str(plot)
    if as_json:
        answer(report, as_json=True)
    else:
        _print(report, rows)
    failures = report["failures"] + report["with_preset_buffer"]["failures"] + sum(row["failures"] for row in rows)
    holds = report["hop_cycles"] <= REQUIRED["hop_cycles"] and \
        report["uniform_throughput"] >= REQUIRED["uniform_throughput"]
    return 0 if holds and not failures else 1


def _print(report: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    console = Console(width=None if Console().is_terminal else 120)
    console.print(f"hop {report['hop_cycles_min']} to {report['hop_cycles']} cycles, radix {report['radix']}, "
                  f"{report['buffer_flits']} flits a buffer, failures {report['failures']}", highlight=False)
    uniform = Table("radix", "buffer, flits", "uniform, header packets", "uniform, mtu packets",
                    "the same, queues at the outputs")
    mine = {"radix": report["radix"], "buffer_flits": report["buffer_flits"],
            **{row["packet"]: row["throughput"] for row in report["uniform"]},
            **{f"{row['packet']}_output_queued": row["output_queued"] for row in report["uniform"]}}
    for row in [mine, report["with_preset_buffer"], *rows]:
        uniform.add_row(str(row["radix"]), str(row["buffer_flits"]), f"{row['header']:.3f}", f"{row['mtu']:.3f}",
                        f"{row['mtu_output_queued']:.3f}")
    trees = Table("fan-out", "copies", "all send: header", "mtu", "one sends: header", "mtu")
    for row in report["multicast_throughput"]:
        trees.add_row(str(row["fanout"]), str(row["copies"]), *(
            f"{row[key]:.3f}" for key in ("header", "mtu", "header_one_sender", "mtu_one_sender")
        ))
    console.print(uniform)
    console.print(trees)
