"""Jobs that ended in an error, made fit for use again."""

from collections.abc import Iterable, Sequence

from firmware_models.host import NodeDriver
from sim.session import CollectiveError, Session

_STEP = 256


def renew(session: Session, jobs: Iterable[int], *, most: int, drivers: Sequence[NodeDriver] | None = None) -> int:
    """Closes `jobs` at all nodes, waits until nothing of them is left anywhere, and opens them.

    Parameters
    ----------
    jobs : iterable of int
        JobIDs.
    most : int
        Cycles that it may take.
    drivers : sequence of NodeDriver, optional
        The nodes that take part; all of the session if not given.

    Returns
    -------
    int
        Cycles that it took.

    Raises
    ------
    CollectiveError
        If something is left after `most` cycles: at which nodes, and what. The jobs stay closed then.
    """
    nodes, numbers, transport = session.drivers if drivers is None else drivers, list(jobs), session.transport
    begin = transport.cycle
    for driver in nodes:
        for job in numbers:
            driver.close_job(job)
    while left := [
        (driver, job, state) for driver in nodes for job in numbers
        if not (state := driver.job_state(job)).at_rest
    ]:
        if transport.cycle - begin > most:
            raise CollectiveError("; ".join(
                f"node {driver.node}, job {job}: {state} left after {most} cycles" for driver, job, state in left
            ))
        transport.run_for(_STEP)
    for driver in nodes:
        for job in numbers:
            driver.open_job(job)
    return transport.cycle - begin
