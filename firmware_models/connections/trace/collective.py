"""Traces of this project's schedules: the packets of a collective, each after those that it depends on."""

from collections import defaultdict

import numpy as np

from firmware_models.connections.error import ConnectionsError, require
from firmware_models.connections.trace.levels import levels
from firmware_models.connections.trace.messages import Trace, trace_of
from firmware_models.schedule import Schedule, ScheduleError, Step, build

_ELEMENT_BYTES = 8


def collective(name: str, which: str, algorithm: str, n_processes: int, *, n_bytes: int = 8192, root: int = 0) -> Trace:
    """The messages of one operation, a rank a process.

    A multicast counts as a message to each of its receivers: connections know none.

    Raises
    ------
    ConnectionsError
        If there is no such collective or algorithm, or a number is out of range.
    """
    require(n_bytes % _ELEMENT_BYTES == 0, f"bytes of {name}", f"a multiple of {_ELEMENT_BYTES}", n_bytes)
    try:
        schedule = build(which, algorithm, n_nodes=n_processes, root=root)
    except ScheduleError as error:
        raise ConnectionsError(str(error)) from None
    return schedule_trace(name, schedule, n_bytes)


def schedule_trace(name: str, schedule: Schedule, n_bytes: int) -> Trace:
    """The messages of a schedule whose message has `n_bytes` bytes.

    The phase of a packet is the number of packets that had to be there, one after the other, before it could leave.
    """
    first = np.concatenate([[0], np.cumsum([len(sequence) for sequence in schedule.sequences])])
    consumed = defaultdict(list)
    for rank, sequence in enumerate(schedule.sequences):
        for place, step in enumerate(sequence):
            for sender in step.receive_from:
                consumed[sender, rank].append(first[rank] + place)
    coming = {pair: iter(places) for pair, places in consumed.items()}
    sends, receives, source, destination, length = [], [], [], [], []
    for rank, sequence in enumerate(schedule.sequences):
        for place, step in enumerate(sequence):
            for receiver in step.targets:
                sends.append(first[rank] + place)
                receives.append(next(coming[rank, receiver]))
                source.append(rank)
                destination.append(receiver)
                length.append(packet_bytes(schedule, step, n_bytes))
    n_steps = int(first[-1])
    last = np.zeros(n_steps, bool)
    last[first[1:] - 1] = True
    follows = np.flatnonzero(~last)
    sent, received = np.array(sends, np.int64), np.array(receives, np.int64)
    level = levels(
        n_steps, np.concatenate([follows, sent]), np.concatenate([follows + 1, received]),
        np.concatenate([np.zeros(len(follows), np.int64), np.ones(len(sent), np.int64)]),
    )
    return trace_of(name, schedule.n_nodes, np.array(source, np.int64), np.array(destination, np.int64),
                    np.array(length, np.int64), level[sent])


def packet_bytes(schedule: Schedule, step: Step, n_bytes: int) -> int:
    """Bytes of what a step sends: those of its blocks, as ``docs/schedules.md`` divides a message."""
    if not schedule.moves_data:
        return 0
    n_blocks = schedule.block_count
    block_bytes = -(-n_bytes // _ELEMENT_BYTES // n_blocks) * _ELEMENT_BYTES
    first, count = step.blocks if step.blocks[1] else (0, n_blocks)
    return min((first + count) * block_bytes, n_bytes) - min(first * block_bytes, n_bytes)
