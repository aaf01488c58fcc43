"""`conic bench builds`: from nothing to the first cycle."""

import click
from rich.console import Console
from rich.table import Table

from sim.bench.builds import measure
from sim.bench.operations import BenchmarkError
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.refusal import fails
from sim.cluster import ClusterBuildError, SimulationFaultError
from sim.environment.engine import Engine


@click.command("builds", epilog=example("conic bench builds --json"))
@click.option("--verilator", is_flag=True, help="Also by Verilator, but for the large switches, which take it hours.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@fails(BenchmarkError, ClusterBuildError, SimulationFaultError)
def builds(*, verilator: bool, as_json: bool) -> int:
    """Seconds from an empty cache to a cluster's last cycle, and node-cycles a second with all instructions that the
    machine has."""
    with progress_bars() as progress:
        report = measure([Engine.LANES, *([Engine.VERILATOR] if verilator else [])], progress)
    if as_json:
        answer(report, as_json=True)
        return 0
    console = Console(width=None if Console().is_terminal else 120)
    table = Table("preset", "topology", "engine", "from nothing, seconds")
    for row in report["builds"]:
        table.add_row(row["preset"], row["topology"], row["engine"], f"{row['seconds']:.1f}")
    console.print(table)
    table = Table("instructions", "cycles", "node-cycles/s")
    for row in report["instructions"]:
        table.add_row(row["isa"], f"{row['cycles']:,}", f"{row['node_cycles_per_second']:,}")
    console.print(table)
    return 0
