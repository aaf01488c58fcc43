"""A message trace: who sends how many bytes to whom, in which phase."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firmware_models.connections.error import require

Ints = npt.NDArray[np.int64]

MAX_MESSAGE_BYTES = (1 << 32) - 1
"""Bytes of one message: as many as the length of a descriptor can say."""
MAX_MESSAGES = 10**10
"""Messages of one trace: some minutes' work."""
CHUNK = 1 << 18
"""Messages that are in memory at once, about."""


@dataclass(frozen=True)
class Messages:
    """Some messages of a trace, in their order.

    Members
    -------
    source, destination : array of int64, shape (n,)
        Ranks.
    n_bytes : array of int64, shape (n,)
        Bytes of each.
    phase : array of int64, shape (n,)
        Does not decrease, here and from chunk to chunk. Messages of one phase are independent of each other.
    """

    source: Ints
    destination: Ints
    n_bytes: Ints
    phase: Ints

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A trace that can be read again and again, a chunk at a time.

    Members
    -------
    name : str
        As on the command line.
    n_processes : int
        Ranks are 0 to n_processes - 1.
    n_messages, n_phases : int
        Of the whole trace.
    make : callable
        Begins to read it: an iterator of :class:`Messages`.

    Raises
    ------
    ConnectionsError
        If there are more messages than :data:`MAX_MESSAGES`.
    """

    name: str
    n_processes: int
    n_messages: int
    n_phases: int
    make: Callable[[], Iterator[Messages]]

    def __post_init__(self) -> None:
        require(self.n_messages <= MAX_MESSAGES, f"messages of {self.name}", f"at most {MAX_MESSAGES}", self.n_messages)

    def chunks(self) -> Iterator[Messages]:
        """The messages, from the first one on."""
        return self.make()


def trace_of(
    name: str, n_processes: int, source: Ints, destination: Ints, n_bytes: Ints, phase: Ints,
) -> Trace:
    """A trace of messages that are all in memory; they are put in the order of their phases."""
    order = np.argsort(phase, kind="stable")
    # Phases are numbered without gaps, whatever they were called.
    _, numbers = np.unique(phase[order], return_inverse=True)
    columns = [source[order], destination[order], n_bytes[order], numbers.astype(np.int64)]

    def make() -> Iterator[Messages]:
        for first in range(0, len(order), CHUNK):
            yield Messages(*(column[first:first + CHUNK] for column in columns))

    return Trace(name=name, n_processes=n_processes, n_messages=len(order),
                 n_phases=int(numbers[-1]) + 1 if len(order) else 0, make=make)


def connection_set(trace: Trace) -> Ints:
    """The pairs of processes that talk to each other, whoever sends.

    Returns
    -------
    array of int64, shape (n, 2)
        Lower and higher rank, each pair once, ascending. Messages to oneself need no connection.
    """
    found = np.zeros(0, np.int64)
    waiting: list[Ints] = []
    for chunk in trace.chunks():
        low, high = np.minimum(chunk.source, chunk.destination), np.maximum(chunk.source, chunk.destination)
        waiting.append(_distinct((low * trace.n_processes + high)[low != high]))
        if sum(map(len, waiting)) > max(4 * CHUNK, len(found)):
            found, waiting = _distinct(np.concatenate([found, *waiting])), []
    found = _distinct(np.concatenate([found, *waiting]))
    return np.stack(np.divmod(found, trace.n_processes), axis=1)


def _distinct(keys: Ints) -> Ints:
    """Each key once, ascending. Sorting beats the hash table of `np.unique` by far for millions of keys."""
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys


def peers(pairs: Ints, n_processes: int) -> Ints:
    """Peers of each process, shape (n_processes,), from what :func:`connection_set` gave."""
    return np.bincount(pairs.ravel(), minlength=n_processes)
