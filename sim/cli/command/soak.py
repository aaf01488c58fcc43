"""`conic soak`: thousands of random operations on the RTL, every bit compared."""

from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from firmware_models.config import ConfigError
from firmware_models.files import aside
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.hardware import hardware, hardware_options
from sim.cli.shared.number import Number
from sim.cli.shared.paths import OUTPUT_FILE
from sim.cli.shared.refusal import fails, refuses
from sim.soak.draw import algorithms, boundaries, reductions
from sim.soak.episode import SoakError
from sim.soak.soak import EPISODE_OPERATIONS, soak


@click.command("soak", epilog=example("conic soak --operations 2000 --nodes 4 --seed 1 --json"))
@hardware_options
@click.option("--operations", type=Number(1), default=2000, show_default=True, help="Collective operations.")
@click.option("--nodes", type=Number(2, 64), default=4, show_default=True, help="Nodes, on one switch.")
@click.option("--seed", type=Number(0), default=1, show_default=True, help="Of every random choice.")
@click.option("--episode", type=Number(0), help=f"Only this episode: {EPISODE_OPERATIONS} operations.")
@click.option("--waves", type=OUTPUT_FILE, help="f.fst: waveform; with --episode.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses(ConfigError)
@fails(SoakError)
def command(
    *, preset: str | None, config: Path | None, operations: int, nodes: int, seed: int, episode: int | None,
    waves: Path | None, as_json: bool,
) -> int:
    """Random jobs, algorithms, types, sizes, stalls and skews; ends at the first bit that is wrong or at a hang."""
    last = -(-operations // EPISODE_OPERATIONS) - 1
    if waves is not None and episode is None:
        raise click.UsageError("--waves: needs --episode, for a waveform of everything would fill the disk")
    if episode is not None and episode > last:
        raise click.UsageError(f"--episode: must be 0 to {last} of {operations} operations, not {episode}")
    name, tree = hardware(preset, config)
    if nodes > tree.switch.radix:
        raise click.UsageError(f"--nodes: must be at most {tree.switch.radix} (switch.radix), not {nodes}")
    if nodes > tree.switch.table_entries:
        raise click.UsageError(
            f"--nodes: must be at most {tree.switch.table_entries} (switch.table_entries), not {nodes}"
        )
    click.echo(f"seed {seed}", err=True)
    with progress_bars() as progress, nullcontext() if waves is None else aside(waves, keep=(SoakError,)) as part:
        covered = soak(
            tree, operations=operations, nodes=nodes, seed=seed, episode=episode, waves=part, progress=progress,
        )
    report: dict[str, Any] = {"nodes": nodes, "seed": seed, "preset": name, "mismatches": 0, "hangs": 0}
    for key, value in vars(covered).items():
        if isinstance(value, Counter):
            report[key] = {str(what): count for what, count in sorted(value.items())}
        else:
            report[key] = len(value) if isinstance(value, set) else value
    seen = {"algorithms": algorithms(), "boundaries": boundaries(), "operators": reductions(tree)}
    report["not_covered"] = [what for key, known in seen.items() for what in known if what not in report[key]]
    if as_json:
        answer(report, as_json=True)
    else:
        _print(report)
    return 0


def _print(report: dict[str, Any]) -> None:
    console = Console(width=None if Console().is_terminal else 120)
    answer({key: value for key, value in report.items() if not isinstance(value, dict | list)}, as_json=False)
    for key in ("algorithms", "operators", "boundaries", "ranks"):
        table = Table(key, "operations")
        for what, count in report[key].items():
            table.add_row(what, str(count))
        console.print(table)
    if report["not_covered"]:
        console.print(f"not covered: {', '.join(report['not_covered'])}", highlight=False)
