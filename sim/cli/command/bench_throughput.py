"""`conic bench throughput`: how much of its link a collective fills."""

import click
from rich.console import Console
from rich.table import Table

from firmware_models.config import ConfigError
from firmware_models.schedule import ScheduleError
from sim.bench.throughput import CASES, measure
from sim.cli.shared.byte_size import ByteSize
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.number import Number
from sim.cli.shared.refusal import fails, refuses
from sim.cluster import ClusterBuildError, SimulationFaultError
from sim.collective import CollectiveError
from sim.fabric.topology import MAX_NODES
from sim.operation.request import RequestError

_NAMES = [" ".join(case) for case in CASES]


@click.command("throughput", epilog=example("conic bench throughput --preset small --nodes 4 --size 256KiB --json"))
@click.option("--preset", "presets", multiple=True, default=("small", "paper"), show_default=True,
              help="Preset of the hardware; may be given several times, as the following.")
@click.option("--nodes", type=Number(2, MAX_NODES), multiple=True, default=(4, 8), show_default=True, help="Nodes.")
@click.option("--size", "n_bytes", type=ByteSize(), multiple=True, default=("1MiB",), show_default=True,
              help="Bytes of the message.")
@click.option("--jobs", type=Number(1, 256), multiple=True, default=(1,), show_default=True,
              help="Collectives that run at once.")
@click.option("--case", "names", type=click.Choice(_NAMES), multiple=True,
              help="Collective and algorithm.  [default: all]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses(ConfigError, RequestError, ScheduleError)
@fails(CollectiveError, ClusterBuildError, SimulationFaultError)
def throughput(
    *, presets: tuple[str, ...], nodes: tuple[int, ...], n_bytes: tuple[int, ...], jobs: tuple[int, ...],
    names: tuple[str, ...], as_json: bool,
) -> int:
    """Large collectives, each against the bound of its busiest link; every bit is compared with the golden model."""
    cases = [case for case in CASES if not names or " ".join(case) in names]
    with progress_bars() as progress:
        rows = list(measure(
            presets=presets, nodes=nodes, n_bytes=n_bytes, jobs=jobs, cases=cases, progress=progress,
        ))
    if as_json:
        answer({"rows": rows}, as_json=True)
        return 0
    table = Table("preset", "collective", "nodes", "bytes", "jobs", "cycles", "of the bound", "with headers",
                  "with credits")
    for row in rows:
        table.add_row(
            row["preset"], f"{row['collective']} {row['algorithm']}", str(row["nodes"]), f"{row['bytes']:,}",
            str(row["jobs"]), f"{row['cycles']:,}", f"{row['bound_fraction']:.1%}", f"{row['framing_fraction']:.1%}",
            f"{row['wire_fraction']:.1%}",
        )
    Console(width=None if Console().is_terminal else 120).print(table)
    return 0
