"""How far a cluster is in an operation, shown while it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from sim.cluster import Cluster
from sim.report.progress import ProgressCallback

STAGE = "cycles, of at least"
_SECONDS = 1.0
"""From one look at the cluster to the next."""


@contextmanager
def shown(cluster: Cluster, at_least: int, progress: ProgressCallback) -> Iterator[None]:
    """Tells `progress` about once a second how many cycles the cluster has run since the beginning of the block.

    How many it will take is not known before: `at_least` is what is shown as the total, as long as it is not passed.
    `progress` is called from a thread; the number is read beside the simulation, which it does not hold up.
    """
    begin, ended = cluster.cycle, Event()

    def tell() -> None:
        while not ended.wait(_SECONDS):
            cycles = cluster.cycle - begin
            progress(STAGE, cycles, max(at_least, cycles))

    progress(STAGE, 0, at_least)
    teller = Thread(target=tell, name="pace", daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
