"""Activity of ranks while others wait for them: they compute, sleep, or are in a call of MPI's."""

import os
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sim.mpi.links import Link

_TICKS = os.sysconf("SC_CLK_TCK")
_AT_WORK = frozenset("RD")
"""States of a process that runs or wants to, and of one that waits for a disk."""
_LEAST_SHARE = 0.02
"""Processor time by the machine's, below which a process does nothing."""
_MOST_LOOKS = 256


@dataclass
class _Watch:
    """A process: how much processor time it had used when, and whether it was at work then."""

    looks: deque[tuple[float, float, bool]] = field(default_factory=lambda: deque(maxlen=_MOST_LOOKS))


class Presence:
    """Watches the processes of a program. Whoever waits in a call of MPI's may spin, which is no work."""

    def __init__(self) -> None:
        self._watches: dict[int, _Watch] = {}
        self._links: Sequence[Link] = ()

    def look(self, links: Sequence[Link], now: float) -> None:
        """Takes a look at all processes; to be called a few times a second."""
        self._links = links
        for pid in {link.pid for link in links}:
            seconds, at_work = _used(pid)
            self._watches.setdefault(pid, _Watch()).looks.append((now, seconds, at_work))

    def call_of(self, rank: int) -> str | None:
        """The call of MPI's that a rank is in, with all of its threads that have called anything; None if in none."""
        calls = [call for link in self._links if link.rank == rank for call in link.inside]
        return calls[0] if calls and all(calls) else None

    def computes(self, rank: int, since: float) -> bool:
        """True if a rank has worked outside of MPI since then; also if nothing is known of it."""
        if self.call_of(rank) is not None:
            return False
        pids = {link.pid for link in self._links if link.rank == rank}
        return not pids or any(_has_worked(self._watches[pid].looks, since) for pid in pids)


def _has_worked(looks: Iterable[tuple[float, float, bool]], since: float) -> bool:
    seen = [look for look in looks if look[0] >= since]
    if len(seen) < 2:
        return True
    (begin, before, _), (end, after, _) = seen[0], seen[-1]
    return after - before > _LEAST_SHARE * (end - begin) or sum(at_work for _, _, at_work in seen) > len(seen) / 2


def _used(pid: int) -> tuple[float, bool]:
    """Seconds of processor time of a process and of those that it has started, and whether one of them is at work."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:  # gone meanwhile
        return 0.0, False
    seconds, at_work = (int(fields[11]) + int(fields[12])) / _TICKS, fields[0] in _AT_WORK
    for child in " ".join(lists).split():
        more, also = _used(int(child))
        seconds, at_work = seconds + more, at_work or also
    return seconds, at_work
