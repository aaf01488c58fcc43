"""`conic bench simulator`: how fast clusters are simulated."""

from typing import Any

import click
from rich.console import Console
from rich.table import Table

from firmware_models.config import ConfigError
from sim.bench.operations import BenchmarkError
from sim.bench.simulator import measure
from sim.cli.shared.byte_size import ByteSize
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.number import Number
from sim.cli.shared.refusal import fails, refuses
from sim.cluster import ClusterBuildError, SimulationFaultError
from sim.fabric.topology import MAX_NODES
from sim.operation.request import RequestError
from testbench.runner import BenchError

REQUIRED_SPEEDUP = 10
"""Over the same cluster, flat, under cocotb on Verilator."""
REQUIRED_OVER_VERILATOR = {"small": 3.5, "paper": 3.0}
"""On one thread, from eight nodes on."""
REQUIRED_WITH_FOUR_NODES, REQUIRED_AT_REST = 2.5, 2.0


@click.command("simulator", epilog=example("conic bench simulator --json"))
@click.option("--preset", "presets", multiple=True, default=("small",), show_default=True,
              help="May be given several times; the first one is simulated flat, too.")
@click.option("--nodes", type=Number(2, MAX_NODES), multiple=True, default=(4, 8, 16, 64), show_default=True,
              help="Size of a cluster; may be given several times.")
@click.option("--flat-nodes", type=Number(2, 16), multiple=True, default=(4,), show_default=True,
              help="Those of them that are simulated flat, too; the compiler's time grows with each node.")
@click.option("--threads", type=Number(1, 1024), multiple=True, default=(1, 2), show_default=True,
              help="Threads of the simulator; may be given several times.")
@click.option("--size", "n_bytes", type=ByteSize(), default="4KiB", show_default=True, help="Message.")
@click.option("--rest/--no-rest", "resting", default=True, show_default=True,
              help="Also what mostly rests: a barrier of 1,024 nodes, hosts, an MPI program.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses(ConfigError, RequestError)
@fails(BenchError, BenchmarkError, ClusterBuildError, SimulationFaultError)
def simulator(
    *, presets: tuple[str, ...], nodes: tuple[int, ...], flat_nodes: tuple[int, ...], threads: tuple[int, ...],
    n_bytes: int, resting: bool, as_json: bool,
) -> int:
    """Node-cycles a second of both engines, beside the same cluster as one flat design under cocotb, all in one run."""
    if missing := set(flat_nodes) - set(nodes):
        raise click.UsageError(f"--flat-nodes: must be among --nodes {', '.join(map(str, nodes))}, not {min(missing)}")
    with progress_bars() as progress:
        report = measure(
            presets=presets, nodes=nodes, threads=threads, n_bytes=n_bytes, flat_nodes=flat_nodes,
            resting=resting, progress=progress,
        )
    if as_json:
        answer(report, as_json=True)
    else:
        _print(report)
    for failure in report["failures"]:
        click.echo(failure, err=True)
    alone = [row for row in report["speedups"] if row["threads"] == 1]
    is_fast = all(row["over_verilator"] >= _required(row) for row in alone)
    is_faster_than_flat = report.get("speedup_over_cocotb", REQUIRED_SPEEDUP) >= REQUIRED_SPEEDUP
    return 0 if is_fast and is_faster_than_flat and not report["failures"] else 1


def _required(row: dict[str, Any]) -> float:
    """How many times as fast as Verilator the lanes must be."""
    if row["workload"] != "allreduce":
        return REQUIRED_AT_REST
    if row["nodes"] < 8:
        return REQUIRED_WITH_FOUR_NODES
    return REQUIRED_OVER_VERILATOR.get(row["preset"], 0.0)


def _print(report: dict[str, Any]) -> None:
    console = Console(width=None if Console().is_terminal else 120)
    table = Table("workload", "preset", "nodes", "engine", "threads", "cycles", "seconds", "node-cycles/s", "evaluated")
    for row in report["rows"]:
        evaluated = row.get("evaluated_fraction")
        table.add_row(
            row["workload"], row["preset"], str(row["nodes"]), row["engine"], str(row["threads"]),
            f"{row['cycles']:,}" if "cycles" in row else "", f"{row['seconds']:.3f}",
            f"{row['node_cycles_per_second']:,}" if "cycles" in row else "",
            "" if evaluated is None else f"{evaluated:.0%}",
        )
    console.print(table)
    ratios = Table("workload", "preset", "nodes", "threads", "over Verilator", "by what is left out")
    for row in report["speedups"]:
        ratios.add_row(
            row["workload"], row["preset"], str(row["nodes"]), str(row["threads"]), f"{row['over_verilator']:.1f}",
            f"{row['by_skipping']:.1f}" if "by_skipping" in row else "",
        )
    console.print(ratios)
    for name in ("speedup_over_cocotb", "speedup_over_icarus"):
        if name in report:
            console.print(f"{name.replace('_', ' ')}: {report[name]}", highlight=False)
