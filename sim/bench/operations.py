"""Operations on a cluster, timed."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sim.cluster import Cluster, Execution
from sim.operation.request import CollectiveRequest
from sim.operation.session import CollectiveError, Posted, Session


class BenchmarkError(RuntimeError):
    """An operation did not end in a run that was to be timed."""


def memory_bytes_of(request: CollectiveRequest) -> int:
    """Host memory that an operation needs, with room."""
    return 1 << (2 * request.size + (1 << 16)).bit_length()


def run(library: Path, request: CollectiveRequest, execution: Execution) -> dict[str, float]:
    """Carries out an operation once, on a cluster that has been up for a while: :func:`run_all` for one."""
    return run_all(library, [request], execution)[0]


def run_all(library: Path, requests: Sequence[CollectiveRequest], execution: Execution) -> list[dict[str, float]]:
    """Carries out operations one after the other, on a cluster that has been up for a while.

    Parameters
    ----------
    library : Path
        Of the hardware of all of them.
    requests : sequence of CollectiveRequest
        On the same nodes of the same topology; each is a job of its own.
    execution : Execution
        How.

    Returns
    -------
    list of dict
        Of each operation `cycles` and `seconds` from the first doorbell to the last completion, `evaluated_fraction` of
        all cycles of all models, `bytes_a_node` of the models.

    Raises
    ------
    BenchmarkError
        If one does not end, or a bit of a result is wrong.
    """
    first = requests[0]
    memory_bytes = sum(map(memory_bytes_of, requests))
    rows = []
    with Cluster(library, first.wired, memory_bytes=memory_bytes, seed=1, execution=execution) as cluster:
        session, jobs = set_up(cluster, requests)
        session.warm_up()
        for request, job in zip(requests, jobs, strict=True):
            session.ring([job])
            begin, evaluated, began = cluster.cycle, cluster.evaluated, time.perf_counter()
            ended = session.wait(10_000_000)
            seconds = time.perf_counter() - began
            cycles = cluster.settled_cycle - begin
            what = f"{request.collective}, {request.preset}, {request.nodes} nodes"
            if not ended:
                raise BenchmarkError(f"{what}: did not end in {cycles} cycles")
            if mismatched := session.compare(request, [job])[1]:
                raise BenchmarkError(f"{what}: {mismatched} bits differ")
            stations = request.nodes + len(request.wired.radixes)
            rows.append({
                "cycles": cycles, "seconds": round(seconds, 4),
                "evaluated_fraction": round((cluster.evaluated - evaluated) / (stations * cycles), 3),
                "bytes_a_node": cluster.bytes_a_node,
            })
    return rows


def set_up(transport: Any, requests: Sequence[CollectiveRequest]) -> tuple[Session, list[Posted]]:
    """A session with an operation of each request posted, and its NICs configured."""
    session = Session(transport, requests[0].config, nodes=requests[0].nodes)
    jobs = [session.post(request, number) for number, request in enumerate(requests)]
    try:
        session.configure()
    except CollectiveError as error:
        raise BenchmarkError(str(error)) from None
    return session, jobs
