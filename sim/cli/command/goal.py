"""`conic goal`: a schedule of LogGOPSim as a workload of the simulated NICs."""

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from firmware_models.config import ConfigError
from firmware_models.files import write_text
from firmware_models.schedule import ScheduleError
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.hardware import hardware, hardware_options
from sim.cli.shared.number import Number
from sim.cli.shared.paths import OUTPUT_FILE
from sim.cli.shared.refusal import fails, refuses
from sim.goal import GoalError, GoalRequest, GoalResult, load_plan, run_goal
from sim.host import DEFAULT, HostError, load_host, load_host_file
from sim.host import host_names as known_hosts
from sim.operation.request import RequestError
from sim.operation.session import CollectiveError
from sim.report.chrome_trace import write_chrome_trace
from sim.report.timeline_page import timeline_page

_MOST_ROWS = 16
"""Ranks that the table shows; JSON has all of them."""


@click.command("goal", epilog=example("conic goal sim/goal/example.goal --host server --json"))
@click.argument("file", type=click.Path(path_type=Path))
@hardware_options
@click.option("--topology", help="How the nodes are wired.  [default: star:N, a node for each rank]")
@click.option("--host", default=DEFAULT, show_default=True,
              help=f"What hosts take: {', '.join(known_hosts())}, or a YAML file (.yaml).")
@click.option("--seed", type=Number(0), default=0, show_default=True, help="Seed of the data of messages.")
@click.option("--trace", type=OUTPUT_FILE, help="t.json: what every node did, for chrome://tracing and Perfetto.")
@click.option("--timeline", type=OUTPUT_FILE, help="t.html: the same as a page to look at, with zoom.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses(GoalError, ConfigError, HostError, RequestError, ScheduleError)
@fails(CollectiveError)
def command(
    *, file: Path, preset: str | None, config: Path | None, topology: str | None, host: str, seed: int,
    trace: Path | None, timeline: Path | None, as_json: bool,
) -> int:
    """Carries out FILE.goal: sends, receives and calculations by hosts over the NICs, collectives by the NICs."""
    plan = load_plan(file)
    name, tree = hardware(preset, config)
    chosen = load_host_file(Path(host)) if host.endswith((".yaml", ".yml")) else load_host(host)
    request = GoalRequest(
        plan=plan, config=tree, preset=name, topology=topology or f"star:{plan.n_ranks}", host=chosen, host_name=host,
        seed=seed,
    )
    with progress_bars() as progress:
        result = run_goal(request, progress=progress)
    if trace is not None:
        write_chrome_trace(trace, result.events)
    if timeline is not None:
        write_text(timeline, timeline_page(result.events, title=f"{file.name}, {plan.n_ranks} ranks"))
    report = {
        "schedule": str(file), "ranks": plan.n_ranks, "operations": len(plan.operations),
        "messages": result.messages, "bytes": result.bytes, "collectives": result.collectives,
        "topology": request.topology, "preset": name, "host": host, "seed": seed, "cycles": result.cycles,
        "microseconds": chosen.microseconds(result.cycles), "mismatched_bits": result.mismatched_bits,
    }
    ranks = {"rank_microseconds": [chosen.microseconds(cycles) for cycles in result.rank_cycles]}
    answer(report | (ranks if as_json else {}), as_json=as_json)
    if not as_json:
        _print_ranks(result, ranks["rank_microseconds"])
    return 1 if result.mismatched_bits else 0


def _print_ranks(result: GoalResult, microseconds: list[float]) -> None:
    """Prints when the ranks have ended, the last ones first."""
    last = sorted(range(len(microseconds)), key=lambda rank: -microseconds[rank])[:_MOST_ROWS]
    title = f"the {len(last)} last of {len(microseconds)} ranks" if len(last) < len(microseconds) else "ranks"
    table = Table(title=title, title_justify="left")
    for heading in ("rank", "ended, cycle", "µs"):
        table.add_column(heading, justify="right")
    for rank in last:
        table.add_row(str(rank), f"{result.rank_cycles[rank]:,.0f}", f"{microseconds[rank]:,.2f}")
    Console(width=None if Console().is_terminal else 120, highlight=False).print(table)
