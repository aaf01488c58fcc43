"""`conic bench osu`: a collective over a range of sizes, as the OSU micro-benchmarks print it."""

from pathlib import Path
from typing import Any

import click

from firmware_models.config import ConfigError
from firmware_models.golden import dtype_of
from firmware_models.schedule import ScheduleError
from sim.bench.osu import TITLES, measure, table
from sim.cli.shared.byte_size import ByteSize
from sim.cli.shared.collective_name import CollectiveName, algorithm_for
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.hardware import hardware, hardware_options
from sim.cli.shared.host import host_of, host_options
from sim.cli.shared.idle import refuse_idle
from sim.cli.shared.number import Number
from sim.cli.shared.refusal import fails, refuses
from sim.cluster import ClusterBuildError
from sim.collective import CollectiveError
from sim.host import DEFAULT, HostError
from sim.operation.request import DATATYPES, CollectiveRequest, RequestError, reduces
from sim.selection import AUTO


class SizeRange(click.ParamType[tuple[int, int]]):
    """``-m`` of OSU: MAX, or MIN:MAX."""

    name = "min:max"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        first, colon, last = str(value).rpartition(":")
        sizes = [ByteSize().convert(text, param, ctx) for text in ((first, last) if colon else ("1", last))]
        if not 1 <= sizes[0] <= sizes[1]:
            self.fail(f"must be MIN:MAX with 1 <= MIN <= MAX, not {value!r}", param, ctx)
        return sizes[0], sizes[1]


@click.command("osu", epilog=example("conic bench osu allreduce --nodes 8 -m 4:4096"))
@click.argument("collective", type=CollectiveName())
@click.option("--algorithm", default=AUTO, show_default=True, help="How: auto, ring, rabenseifner, ...")
@click.option("--nodes", type=Number(2), default=8, show_default=True, help="Nodes, a rank each.")
@click.option("-m", "--message-size", "sizes", type=SizeRange(), default="4:1048576", show_default=True,
              help="MIN:MAX bytes of a message, doubled from one to the next.")
@click.option("-f", "--full", "is_full", is_flag=True, help="Least and most latency of all ranks as well.")
@click.option("--dtype", default="float32", show_default=True, help=f"Element type: {', '.join(DATATYPES)}.")
@click.option("--op", default="sum", show_default=True, help="Reduction operator.")
@hardware_options
@host_options
@click.option("--seed", type=Number(0), default=0, show_default=True, help="Seed of the data.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses(ConfigError, HostError, RequestError, ScheduleError)
@fails(CollectiveError, ClusterBuildError)
def osu(
    *, collective: str, algorithm: str, nodes: int, sizes: tuple[int, int], is_full: bool, dtype: str, op: str,
    preset: str | None, config: Path | None, host: str | None, host_based: bool, seed: int, as_json: bool,
) -> int:
    """Latency of COLLECTIVE by size, in the columns of the OSU micro-benchmarks; every bit is compared.

    Time is that of processes on hosts: from the call, which all make at once, until each has its result; the mean over
    all ranks, of one iteration, for simulated ones are all alike.
    """
    if collective not in TITLES:
        raise click.UsageError(f"COLLECTIVE must be one of {', '.join(TITLES)}, not {collective!r}")
    if collective == "barrier":
        refuse_idle(("sizes", "dtype", "seed"), "for barrier, which moves no data")
    preset_name, tree = hardware(preset, config)
    host_name, its_host = host_of(DEFAULT if host is None else host, host_based=host_based)
    requests = [
        CollectiveRequest(
            collective=collective, nodes=nodes, size=size, dtype=dtype,
            algorithm=algorithm_for(collective, algorithm, nodes=nodes, size=size, host_based=host_based),
            op=op, config=tree, preset=preset_name, seed=seed, host=its_host, host_name=host_name,
            host_based=host_based,
        )
        for size in _sizes(collective, *sizes, dtype)
    ]
    if not any(reduces(collective, request.algorithm) for request in requests):
        refuse_idle(("op",), f"for {collective}, which reduces nothing")
    with progress_bars() as progress:
        rows = list(measure(requests, progress=progress))
    if as_json:
        answer({
            "collective": collective, "nodes": nodes, "dtype": dtype, "preset": preset_name, "host": host_name,
            "host_based": host_based, "rows": [vars(row) for row in rows],
        }, as_json=True)
        return 0
    way = "by hosts" if host_based else "offloaded"
    about = [f"{nodes} nodes of preset {preset_name}, host {host_name}, {way}; simulated time",
             f"Datatype: {dtype}, operator: {op}."]
    click.echo(table(collective, rows, about=about, is_full=is_full))
    return 0


def _sizes(collective: str, least: int, most: int, dtype: str) -> list[int]:
    """Powers of two in the range, of whole elements; of a barrier none."""
    if collective == "barrier":
        return [0]
    if dtype not in DATATYPES:
        raise click.UsageError(f"--dtype: must be one of {', '.join(DATATYPES)}, not {dtype!r}")
    item = dtype_of(DATATYPES[dtype]).itemsize
    found = [1 << power for power in range(33) if least <= 1 << power <= most and (1 << power) >= item]
    if not found:
        raise click.UsageError(f"-m: must have a power of two of at least {item} bytes ({dtype}), not {least}:{most}")
    return found
