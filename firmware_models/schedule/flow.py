"""Plays a large schedule with one credit a pair, in compiled loops: what the checker proves, at a thousand ranks."""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from .sequence import Packet, Schedule

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Flow:
    """How a schedule ran.

    Members
    -------
    ended : bool
        Everybody came to an end; if not, the other members say nothing.
    windows : list of int
        Per rank, the widest window of live packets.
    steps : int
        Longest chain of packets.
    wide : list of tuple of int
        (receiver, index) of packets whose window is wider than was allowed.
    """

    ended: bool
    windows: list[int]
    steps: int
    wide: list[tuple[int, int]]


def play(schedule: Schedule, packets: list[Packet], *, allowed: int) -> Flow:
    """Plays `schedule`, each of whose `packets` has been matched with its consumption.

    A sequence does the same whatever the others' speed, so one run that ends proves that all do; and vector clocks,
    which say what a rank knows of the others' progress, do not depend on the run either.
    """
    n = schedule.n_nodes
    counts = [sum(max(1, len(step.receive_from)) for step in sequence) for sequence in schedule.sequences]
    first = np.concatenate([[0], np.cumsum(counts)])
    takes = np.zeros(first[-1], np.bool_)
    target = np.full(first[-1], -1, np.int32)
    index = np.zeros(first[-1], np.int32)
    event = 0
    for sequence in schedule.sequences:
        for step in sequence:
            width = len(step.receive_from)
            takes[event : event + width] = True
            event += max(1, width)
            if step.send_to is not None:
                target[event - 1] = step.send_to
                index[event - 1] = step.send_index
    sends = np.flatnonzero(target >= 0)
    sender = np.repeat(np.arange(n), counts)[sends]
    pair = sender * np.int64(n) + target[sends]
    order = np.argsort(pair, kind="stable")
    follows = np.flatnonzero(pair[order][1:] == pair[order][:-1])
    before = np.full(first[-1], -1, np.int32)
    before[sends[order[follows + 1]]] = index[sends[order[follows]]]
    received = np.bincount(target[sends], minlength=n)
    room = np.concatenate([[0], np.cumsum(received)])
    ended, windows, steps, wide = _play(first, takes, target, index, before, room, allowed)
    return Flow(bool(ended), windows.tolist(), int(steps), [(int(a), int(b)) for a, b in wide])


@numba.njit(cache=True)
def _play(
    first: Any, takes: Any, target: Any, index: Any, before: Any, room: Any, allowed: int
) -> Any:  # pragma: no cover
    n = len(first) - 1
    place = first[:n].copy()
    consumed = np.zeros(n, np.int32)
    known = np.zeros((n, n), np.int32)
    chain = np.zeros(n, np.int32)
    windows = np.zeros(n, np.int32)
    slot = np.full(room[n], -1, np.int64)
    capacity = 4 * n + 64
    clocks = np.zeros((capacity, n), np.int32)
    lengths = np.zeros(capacity, np.int32)
    free = np.arange(capacity)
    n_free = capacity
    wide = np.zeros((8, 2), np.int64)
    n_wide = 0
    moved = True
    while moved:
        moved = False
        for rank in range(n):
            event = place[rank]
            if event == first[rank + 1]:
                continue
            mine = room[rank] + consumed[rank]
            if takes[event] and slot[mine] < 0:
                continue
            to = target[event]
            if to >= 0 and before[event] >= consumed[to]:
                continue
            moved = True
            place[rank] += 1
            if takes[event]:
                clock = slot[mine]
                for other in range(n):
                    if clocks[clock, other] > known[rank, other]:
                        known[rank, other] = clocks[clock, other]
                chain[rank] = max(chain[rank], lengths[clock])
                free[n_free] = clock
                n_free += 1
                consumed[rank] += 1
                known[rank, rank] = consumed[rank]
            if to >= 0:
                window = index[event] - known[rank, to] + 1
                windows[to] = max(windows[to], window)
                if window > allowed and n_wide < len(wide):
                    wide[n_wide, 0], wide[n_wide, 1] = to, index[event]
                    n_wide += 1
                if n_free == 0:
                    grown = np.zeros((2 * capacity, n), np.int32)
                    grown[:capacity] = clocks
                    clocks = grown
                    longer = np.zeros(2 * capacity, np.int32)
                    longer[:capacity] = lengths
                    lengths = longer
                    free = np.zeros(2 * capacity, np.int64)
                    free[:capacity] = np.arange(capacity, 2 * capacity)
                    n_free = capacity
                    capacity *= 2
                n_free -= 1
                clock = free[n_free]
                clocks[clock] = known[rank]
                lengths[clock] = chain[rank] + 1
                slot[room[to] + index[event]] = clock
    ended = True
    for rank in range(n):
        ended = ended and place[rank] == first[rank + 1]
    return ended, windows, chain.max(), wide[:n_wide]
