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
    ends = np.zeros((n, max(map(len, schedule.sequences))), np.int64)
    event = 0
    for rank, sequence in enumerate(schedule.sequences):
        for place, step in enumerate(sequence):
            width = len(step.receive_from)
            takes[event : event + width] = True
            event += max(1, width)
            ends[rank, place] = event - 1
    # Of each packet: the event that sends it, its receiver, its number, and its place among what is consumed there.
    numbers = [schedule.numbers(rank) for rank in range(n)]
    room = np.concatenate([[0], np.cumsum([len(own) for own in numbers])])
    places = [{number: place for place, number in enumerate(own)} for own in numbers]
    sends = np.array([ends[packet.sender, packet.step] for packet in packets], np.int64)
    target = np.array([packet.receiver for packet in packets], np.int32)
    index = np.array([packet.index for packet in packets], np.int32)
    slots = np.array([places[packet.receiver][packet.index or 0] for packet in packets], np.int32)
    # The packet before on the same channel has to be consumed first.
    before = np.full(len(packets), -1, np.int32)
    last: dict[tuple[int, tuple[int, tuple[int, ...]]], int] = {}
    for number, packet in enumerate(packets):
        before[number] = last.get((packet.receiver, packet.channel), -1)
        last[packet.receiver, packet.channel] = slots[number]
    # Packets stand in the order of their events.
    outgoing = np.searchsorted(sends, np.arange(first[-1] + 1))
    bears = np.array([number for own in numbers for number in own], np.int32)
    ended, windows, steps, wide = _play(first, takes, outgoing, target, index, slots, before, room, bears, allowed)
    return Flow(bool(ended), windows.tolist(), int(steps), [(int(a), int(b)) for a, b in wide])


@numba.njit(cache=True)
def _play(
    first: Any, takes: Any, outgoing: Any, target: Any, index: Any, slots: Any, before: Any, room: Any, bears: Any,
    allowed: int,
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
            held = False
            for packet in range(outgoing[event], outgoing[event + 1]):
                held = held or before[packet] >= consumed[target[packet]]
            if held:
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
                known[rank, rank] = bears[mine] + 1
            for packet in range(outgoing[event], outgoing[event + 1]):
                to = target[packet]
                window = index[packet] - known[rank, to] + 1
                windows[to] = max(windows[to], window)
                if window > allowed and n_wide < len(wide):
                    wide[n_wide, 0], wide[n_wide, 1] = to, index[packet]
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
                slot[room[to] + slots[packet]] = clock
    ended = True
    for rank in range(n):
        ended = ended and place[rank] == first[rank + 1]
    return ended, windows, chain.max(), wide[:n_wide]
