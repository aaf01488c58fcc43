"""Latencies of a collective over a range of sizes, and the table that the OSU micro-benchmarks print of them.

The layout is that of ``osu_allreduce`` and its sisters: comment lines, a head that begins with ``# Size``, then a line
for each size: the size left in 10 columns, latencies in microseconds right in 18 columns each with two digits, and,
with the full table, iterations right in 12.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sim.collective import CollectiveError, CollectiveRequest, run_collective
from sim.report.progress import ProgressCallback

TITLES = {
    "allreduce": "Allreduce", "reduce": "Reduce", "broadcast": "Broadcast", "barrier": "Barrier",
    "allgather": "Allgather", "alltoall": "All-to-All Personalized Exchange", "gather": "Gather", "scatter": "Scatter",
    "reduce-scatter": "Reduce_scatter", "scan": "Scan", "exscan": "Exscan",
}
"""OSU's name of each collective."""
_SIZE, _FIGURE, _COUNT = 10, 18, 12


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Latency of one size over all ranks, in microseconds."""

    bytes: int
    algorithm: str
    average: float
    least: float
    most: float


def measure(requests: Sequence[CollectiveRequest], *, progress: ProgressCallback) -> Iterator[Latency]:
    """Carries out one request after the other, each with a host; latencies are those of its processes.

    Raises
    ------
    CollectiveError
        If an operation does not end, or a bit of a result is wrong.
    """
    for number, request in enumerate(requests):
        progress("sizes", number, len(requests))
        result = run_collective(request, keeps_events=False)
        if result.mismatched_bits:
            raise CollectiveError(f"{request.size} bytes: {result.mismatched_bits} bits differ from the golden model")
        assert request.host is not None
        times = [request.host.microseconds(cycles) for row in result.process_cycles for cycles in row]
        yield Latency(bytes=request.size, algorithm=request.algorithm, average=sum(times) / len(times),
                      least=min(times), most=max(times))
    progress("sizes", len(requests), len(requests))


def table(collective: str, rows: Sequence[Latency], *, about: Sequence[str], is_full: bool) -> str:
    """The table as OSU prints it; `about` are lines of comment.

    Examples
    --------
    >>> rows = [Latency(bytes=4, algorithm="ring", average=3.14159, least=2.5, most=4.0)]
    >>> print(table("allreduce", rows, about=[], is_full=False))
    <BLANKLINE>
    # OSU MPI Allreduce Latency Test (conic)
    # Size       Avg Latency(us)
    4                       3.14
    <BLANKLINE>
    """
    heads = ["Avg Latency(us)", *(["Min Latency(us)", "Max Latency(us)"] if is_full else [])]
    head = "# Size".ljust(_SIZE) + "".join(name.rjust(_FIGURE) for name in heads)
    lines = ["", f"# OSU MPI {TITLES[collective]} Latency Test (conic)", *(f"# {line}" for line in about),
             head + ("Iterations".rjust(_COUNT) if is_full else "")]
    for row in rows:
        figures = [row.average, *([row.least, row.most] if is_full else [])]
        line = str(row.bytes).ljust(_SIZE) + "".join(f"{figure:{_FIGURE}.2f}" for figure in figures)
        lines.append(line + ("1".rjust(_COUNT) if is_full else ""))
    return "\n".join([*lines, ""])
