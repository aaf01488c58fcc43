"""Jobs that something went wrong with are to work as new."""

from collections.abc import Sequence

from sim.cluster import AxiResponse, Cluster, WireRates
from sim.faults.outcome import Verdict
from sim.operation.renewal import longest_way, renew
from sim.operation.request import CollectiveRequest
from sim.operation.session import CollectiveError, Session


def clear(cluster: Cluster, session: Session) -> None:
    """Nothing goes wrong by rate any more, and cables that were cut are whole."""
    cluster.set_wires(WireRates())
    for cable in range(len(cluster.topology.cables)):
        cluster.mend(cable)
    for driver in session.drivers:
        for is_write in (False, True):
            cluster.fail_share(driver.node, is_write=is_write, share=0.0, response=AxiResponse.SLVERR)


def works_as_new(
    cluster: Cluster, session: Session, request: CollectiveRequest, verdicts: Sequence[Verdict], *, most: int,
) -> str:
    """Closes and opens the jobs that did not end well, and carries out an operation of each job.

    Returns
    -------
    str
        "as new" if all of them end in OK with the right bits; else what is wrong.
    """
    try:
        renew(
            session, [job for job, verdict in enumerate(verdicts) if verdict is not Verdict.CORRECTED],
            most=most + 2 * longest_way(request.config), lost_after=longest_way(request.config),
        )
    except CollectiveError as error:
        return str(error)
    again = [session.post(request, job) for job in range(request.jobs)]
    session.configure()
    session.ring(again, not_before=lambda: cluster.cycle)
    if not session.wait(most):
        return session.hang("the operation afterwards", again).splitlines()[0]
    try:
        list(session.completions(again))
    except CollectiveError as error:
        return str(error)
    mismatched = session.compare(request, again)[1]
    return "as new" if not mismatched else f"{mismatched} wrong bits"
