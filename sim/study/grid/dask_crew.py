"""Points of a grid on the workers of a Dask cluster: ``--scheduler``.

Workers are processes of one thread, for a point is measured in a copy of its process. They must be of the same sources
as the study: what they measure is kept beside what others measure.
"""

import logging
import platform
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firmware_models.files import shown
from sim.study import StudyError
from sim.study.grid.crew import Crew, Measure, Row
from sim.study.grid.tasks import source_hash

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_SECONDS = 10
_PACKAGES = ("firmware_models", "rtl", "sim")


@cache
def identity() -> dict[str, str]:
    """Properties that a worker must share with the sender of its points: sources, and what computes and carries its
    rows."""
    import distributed  # only who has a Dask cluster needs the package

    sources = source_hash(*(Path(str(resources.files(name))) for name in _PACKAGES))
    return {
        "sources": sources[:16], "python": ".".join(platform.python_version_tuple()[:2]), "numpy": np.__version__,
        "distributed": distributed.__version__,
    }


class Workers(Crew):
    """The workers of the Dask scheduler at `address`.

    Raises
    ------
    StudyError
        If Dask is not installed, if no scheduler answers, or if it has no workers, or one that must not take part.
    """

    is_here = False

    def __init__(self, address: str):
        self._client = _connected(address)
        try:
            self.size = self._check(address)
        except BaseException:
            self._client.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def _check(self, address: str) -> int:
        """How many workers there are. Raises :class:`StudyError` unless all may take part."""
        threads: dict[str, int] = self._client.nthreads()
        if not threads:
            raise StudyError(f"--scheduler: {shown(address)} must have workers: start some with dask worker")
        for worker, count in sorted(threads.items()):
            if count != 1:
                raise StudyError(f"--scheduler: worker {worker} must have 1 thread (--nthreads 1), not {count}")
        answers = self._client.run(_asking(), on_error="return")
        for worker, theirs in sorted(answers.items()):
            if refusal := _difference(worker, theirs, identity()):
                raise StudyError(refusal)
        return len(threads)

    def measured(self, measure: Measure, arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Row]]:
        """As :class:`Crew` says. Raises :class:`StudyError` if workers are lost, or the scheduler."""
        from distributed import KilledWorker, as_completed

        wanted = identity()
        places = {
            # Earlier ones have the higher priority; a point is measured anew each time that it is asked for.
            self._client.submit(measure_at_worker, wanted, measure, each, pure=False, priority=-place): place
            for place, each in enumerate(arguments)
        }
        try:
            for future in as_completed(list(places), loop=self._client.loop):
                place = places.pop(future)
                try:
                    row: Row = future.result()
                except (KilledWorker, CancelledError) as error:
                    raise StudyError(
                        "--scheduler: must keep its workers until all points are measured, but some are gone "
                        f"({type(error).__name__}); the rows so far are kept"
                    ) from error
                yield place, row
        finally:
            self._client.cancel(list(places))


def measure_at_worker(wanted: dict[str, str], measure: Measure, arguments: tuple[Any, ...]) -> Row:
    """A row, at a worker; one that has come late is asked here who it is."""
    from distributed import get_worker

    if refusal := _difference(get_worker().address, identity(), wanted):
        raise StudyError(refusal)
    return measure(*arguments)


def _connected(address: str) -> "Client":
    try:
        from distributed import Client
    except ImportError:
        raise StudyError(
            "--scheduler: needs the package distributed, which is not installed: pip install 'conic[dask]'"
        ) from None
    # The code that asked for a row reports its failure in one line, so the log of the client is silenced.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        # Workers of other versions are refused by name below.
        warnings.simplefilter("ignore")
        try:
            return Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise StudyError(
                f"--scheduler: must be the address of a Dask scheduler, as tcp://HOST:8786, not {shown(address)}: "
                f"{reason}"
            ) from None


def _asking() -> Callable[[], dict[str, str]]:
    """A question that a worker can be asked even if it has other sources: it travels by value."""
    def ask() -> dict[str, str]:
        from sim.study.grid.dask_crew import identity

        return identity()

    return ask


def _difference(worker: str, theirs: dict[str, str] | BaseException, wanted: dict[str, str]) -> str:
    """Why a worker must not take part; nothing if it may."""
    if isinstance(theirs, BaseException):
        first = (str(theirs).splitlines() or [type(theirs).__name__])[0]
        return f"--scheduler: worker {worker} must have this version of conic: {first}"
    for name, value in wanted.items():
        if theirs.get(name) != value:
            return f"--scheduler: worker {worker} must have {name} {value}, as here, not {theirs.get(name)}"
    return ""
