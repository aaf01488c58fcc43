"""Jobs that ended in an error, made fit for use again."""

from collections.abc import Iterable, Sequence

from firmware_models.config import Config
from firmware_models.host import NodeDriver
from rtl.link.link_layer import SILENCE_CYCLES
from sim.operation.session import CollectiveError, Session

_STEP = 256


def longest_way(config: Config) -> int:
    """Cycles for which a packet may be on its way to a node: by a link that is down, until that throws it away, and a
    second one behind it.
    """
    return 2 * (SILENCE_CYCLES + config.link.dead_cycles) if config.link.reliable else 8 * SILENCE_CYCLES


def renew(
    session: Session, jobs: Iterable[int], *, most: int, drivers: Sequence[NodeDriver] | None = None,
    lost_after: int | None = None,
) -> int:
    """Closes `jobs` at all nodes, waits until nothing of them is left anywhere, and opens them.

    With `lost_after` what is left without a change for so long is written off: a link has thrown away what it waits
    for, or a node that is gone has it. It is to be no less than :func:`longest_way`.

    Parameters
    ----------
    jobs : iterable of int
        JobIDs.
    most : int
        Cycles that it may take.
    drivers : sequence of NodeDriver, optional
        The nodes that take part; all of the session if not given.
    lost_after : int, optional
        Cycles without a change after which what is left is written off; never if not given.

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
    before, changed = None, begin
    while left := [
        (driver, job, state) for driver in nodes for job in numbers
        if not (state := driver.job_state(job)).at_rest
    ]:
        if transport.cycle - begin > most:
            raise CollectiveError("; ".join(
                f"node {driver.node}, job {job}: {state} left after {most} cycles" for driver, job, state in left
            ))
        states = [state for _, _, state in left]
        if states != before:
            before, changed = states, transport.cycle
        elif lost_after is not None and transport.cycle - changed >= lost_after:
            for driver, job, _ in left:
                driver.write_off_job(job)
        transport.run_for(_STEP)
    for driver in nodes:
        for job in numbers:
            driver.open_job(job)
    return transport.cycle - begin
