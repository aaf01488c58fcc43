"""`conic build`: the bitstream of a board, with its frequencies and what it takes of the device."""

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from fpga.bitstream import SEED, Bitstream, BitstreamError, build_bitstream, summary
from fpga.board import BoardError, find_board
from fpga.place import PlacementError
from fpga.synthesis import SynthesisError
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.number import Number
from sim.cli.shared.paths import OUTPUT_FOLDER
from sim.cli.shared.refusal import fails, refuses
from sim.cli.shared.run_file import run_file_option

_BLOCKS = 16
"""Largest blocks that the table shows; JSON has all of them."""


@click.command("build", epilog=example("conic build ulx3s_85f --json"))
@click.argument("board")
@click.option("--output-dir", type=OUTPUT_FOLDER,
              help="Folder of the bitstream and everything on the way.  [default: build/fpga/BOARD]")
@click.option("--seed", type=Number(0), default=SEED, show_default=True, help="Seed of the placer.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@run_file_option
@refuses(BoardError)
@fails(SynthesisError, PlacementError, BitstreamError)
def command(*, board: str, output_dir: Path | None, seed: int, as_json: bool) -> int:
    """Builds the self-test design of BOARD with the open tools; fails unless every clock is as fast as it must be."""
    chosen = find_board(board)
    folder = Path("build", "fpga", chosen.name) if output_dir is None else output_dir
    with progress_bars() as progress:
        result = build_bitstream(chosen, folder, seed=seed, progress=progress)
    if as_json:
        answer(summary(result), as_json=True)
    else:
        for table in (_clocks(result), _cells(result)):
            Console().print(table)
        click.echo(result.bitstream)
    for name, clock in result.clocks.items():
        if clock["fmax_mhz"] < clock["required_mhz"]:
            click.echo(
                f"conic build: clock {name} reaches {clock['fmax_mhz']} MHz, not {clock['required_mhz']} MHz", err=True
            )
    return 0 if result.timing_met else 1


def _clocks(result: Bitstream) -> Table:
    path = result.critical_path
    table = Table(
        title=f"{result.board}, seed {result.seed}",
        caption=f"slowest path: {path['delay_ns']:.2f} ns from {path['from']} to {path['to']}",
    )
    for heading in ("clock", "MHz", "required", "met"):
        table.add_column(heading, justify="left" if heading == "clock" else "right")
    for name, clock in result.clocks.items():
        reached, required = clock["fmax_mhz"], clock["required_mhz"]
        table.add_row(name, f"{reached:.2f}", f"{required:.2f}", "yes" if reached >= required else "no")
    return table


def _cells(result: Bitstream) -> Table:
    device = ", ".join(f"{count:,} {kind}" for kind, count in result.device.items())
    table = Table(title="cells", caption=f"of the device: {device}")
    table.add_column("block")
    for category in result.cells:
        table.add_column(category.replace("_", " "), justify="right")
    for block, counts in (("all", result.cells), *list(result.blocks.items())[:_BLOCKS]):
        table.add_row(block, *(f"{counts[category]:,}" for category in result.cells))
    return table
