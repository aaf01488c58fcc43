"""`conic bench congestion`: packets and events a second of the simulator of congestion control."""

import click
from rich.console import Console
from rich.table import Table

from sim.bench.congestion import measure
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.number import Number
from sim.cli.shared.refusal import fails, refuses
from sim.model.congestion import ALGORITHMS, CongestionError
from sim.model.congestion.core.library import CoreError


@click.command("congestion", epilog=example("conic bench congestion --control hpcc --duration-us 50 --json"))
@click.option("--control", "controls", type=click.Choice(list(ALGORITHMS)), multiple=True, help="[default: all]")
@click.option("--duration-us", type=Number(1, 100_000), default=250, show_default=True,
              help="Flows of the large network begin within this time.")
@click.option("--seed", type=Number(0, 2**31), default=1, show_default=True, help="Of the flows.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses(CongestionError)
@fails(CoreError)
def congestion(*, controls: tuple[str, ...], duration_us: int, seed: int, as_json: bool) -> int:
    """Simulated packets a second on 20 and on 320 hosts; every run is checked."""
    with progress_bars() as progress:
        rows = measure(controls or tuple(ALGORITHMS), duration_us, seed, progress)
    if as_json:
        answer({"rows": rows}, as_json=True)
    else:
        table = Table("network", "control", "flows", "packets", "packets a s", "packets a CPU s", "events a CPU s")
        for row in rows:
            table.add_row(row["network"], row["control"], f"{row['flows']:,}", f"{row['packets']:,}",
                          f"{row['packets_a_second']:,}", f"{row['packets_a_cpu_second']:,}",
                          f"{row['events_a_cpu_second']:,}")
        Console(width=None if Console().is_terminal else 120).print(table)
    return 1 if any(row["violations"] for row in rows) else 0
