"""Workers that measure the points of a grid: processes of this machine, or workers of a Dask cluster."""

import ctypes
import itertools
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager
from typing import Any, Protocol

Row = dict[str, Any]
Measure = Callable[..., Row]
_POLL_SECONDS = 1.0
_PR_SET_PDEATHSIG = 1


class Crew(AbstractContextManager["Crew"], Protocol):
    """Some who measure beside each other; how many they are changes no row.

    Members
    -------
    size : int
        How many they are.
    is_here : bool
        They are on this machine, and find what has been prepared on it.
    """

    size: int
    is_here: bool

    def measured(self, measure: Measure, arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Row]]:
        """Places of `arguments`, each with what `measure` gives for it, as they end; the first ones begin first."""


class Processes(Crew):
    """At most so many processes of this machine."""

    is_here = True

    def __init__(self, size: int):
        self.size = size

    def __exit__(self, *_: object) -> None:
        pass

    def measured(self, measure: Measure, arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Row]]:
        """As :class:`Crew` says."""
        # Spawned, so that they are this process's children: they end with it, however it ends.
        with ProcessPoolExecutor(
            min(self.size, len(arguments)), multiprocessing.get_context("spawn"), end_with_parent,
        ) as pool:
            waiting = iter(enumerate(arguments))
            running: dict[Future[Row], int] = {}
            try:
                while True:
                    # Two a process: one that is measured, and one that it finds when it is done.
                    for place, each in itertools.islice(waiting, 2 * self.size - len(running)):
                        running[pool.submit(measure, *each)] = place
                    if not running:
                        return
                    ended, _ = wait(running, _POLL_SECONDS, FIRST_COMPLETED)
                    for future in [future for future in running if future in ended]:
                        yield running.pop(future), future.result()
            except BaseException:
                for process in list(getattr(pool, "_processes", {}).values()):
                    process.terminate()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def end_with_parent() -> None:
    """This process ends when its parent does, by SIGKILL for one; an interruption is the parent's to hear.

    Its own children do not: each has to call this, too.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    libc = ctypes.CDLL(None)
    if hasattr(libc, "prctl"):
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
