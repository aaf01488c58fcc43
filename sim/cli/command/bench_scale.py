"""`conic bench scale`: operations of many nodes."""

import click
from rich.console import Console
from rich.table import Table

from firmware_models.config import ConfigError
from sim.bench.operations import BenchmarkError
from sim.bench.scale import measure
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.number import Number
from sim.cli.shared.refusal import fails, refuses
from sim.cluster import ClusterBuildError, SimulationFaultError
from sim.fabric.topology import MAX_NODES
from sim.operation.request import RequestError


@click.command("scale", epilog=example("conic bench scale --nodes 256 --json"))
@click.option("--preset", default="small", show_default=True, help="Preset of the hardware.")
@click.option("--nodes", type=Number(2, MAX_NODES), default=256, show_default=True,
              help="Nodes, on a torus of switches.")
@click.option("--threads", type=Number(0, 1024), default=0, help="Threads of the simulator.  [default: a core each]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses(ConfigError, RequestError)
@fails(BenchmarkError, ClusterBuildError, SimulationFaultError)
def scale(*, preset: str, nodes: int, threads: int, as_json: bool) -> int:
    """A barrier and an allreduce of 8 bytes over many nodes, every bit compared with the golden model."""
    with progress_bars() as progress:
        report = measure(preset=preset, nodes=nodes, threads=threads, progress=progress)
    if as_json:
        answer(report, as_json=True)
        return 0
    table = Table("collective", "nodes", "topology", "cycles", "seconds", "evaluated", "KiB a node")
    for row in report["rows"]:
        table.add_row(
            row["collective"], str(row["nodes"]), row["topology"], f"{row['cycles']:,}", f"{row['seconds']:.3f}",
            f"{row['evaluated_fraction']:.0%}", f"{row['bytes_a_node'] / 1024:,.0f}",
        )
    Console(width=None if Console().is_terminal else 120).print(table)
    return 0
