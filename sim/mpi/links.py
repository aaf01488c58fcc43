"""Connections of ranks: a socket without a name in any file system, and a segment of memory from each of them."""

import contextlib
import errno
import mmap
import os
import resource
import secrets
import socket
from array import array
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim.mpi.error import FabricError
from sim.mpi.wire import (
    ANSWER,
    PASSED_AT,
    REQUEST,
    SLOT_BYTES,
    SLOTS,
    SLOTS_AT,
    AnswerKind,
    Collective,
    Reason,
    Request,
    SlotState,
    read_request,
    text,
)

_SEGMENT_BYTES = 1 << 34
"""Of address space; there is memory only where something has been written."""
_LEAST_SEGMENT_BYTES = 1 << 24
_MOST_BYTES = REQUEST.size + (1 << 17)


@dataclass(eq=False)
class Link:
    """The connection of a process.

    Members
    -------
    rank, pid : int
        Of MPI_COMM_WORLD, and its process.
    memory : array of bytes
        The segment: its head, which says what the process does by itself, then operands and results.
    joined : bool
        Others may wait for it: it has called MPI_Init.
    """

    socket: socket.socket
    rank: int
    pid: int
    memory: NDArray[np.uint8]
    joined: bool = False

    def hear(self) -> tuple[Request, bytes] | None:
        """The next message, or None if the other end is gone. Raises :class:`BlockingIOError` if there is none yet."""
        try:
            message = self.socket.recv(_MOST_BYTES)
        except ConnectionResetError:
            # A process that leaves an answer unread resets the socket. The reset is reported once, and before its last
            # messages.
            return self.hear()
        return read_request(message) if message else None

    @property
    def inside(self) -> list[str]:
        """Of each thread that has called MPI: the call that may block and that it is in; empty if it is in none."""
        slots = self.memory[SLOTS_AT:SLOTS_AT + SLOTS * SLOT_BYTES].reshape(SLOTS, SLOT_BYTES)
        return [
            text(slot[1:].tobytes()) if slot[0] == SlotState.INSIDE else ""
            for slot in slots[slots[:, 0] != SlotState.FREE]
        ]

    def passed(self) -> dict[tuple[Collective, Reason], int]:
        """Calls so far that went to MPI without a question."""
        counts = self.memory[PASSED_AT:SLOTS_AT].view(np.uint64).reshape(len(Collective), len(Reason))
        return {
            (Collective(collective), Reason(reason)): int(counts[collective, reason])
            for collective, reason in zip(*map(np.ndarray.tolist, counts.nonzero()), strict=True)
        }

    def answer(self, request: Request, kind: AnswerKind, now: float, reason: Reason = Reason.OFFLOADED) -> None:
        """Says what becomes of a call, for which reason; a rank that is gone hears nothing."""
        with contextlib.suppress(OSError):
            self.socket.send(ANSWER.pack(request.id, kind, reason, now))

    def close(self) -> None:
        """Ends the connection."""
        self.socket.close()


class Door:
    """Where ranks connect."""

    def __init__(self) -> None:
        self.name = f"conic-{os.getpid()}-{secrets.token_hex(8)}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The zero in front: the name is the kernel's, and goes with the socket.
        self.socket.bind(f"\0{self.name}")
        self.socket.listen(256)
        self.socket.setblocking(False)

    def accept(self) -> Link | None:
        """Takes a connection and its segment; None if the rank has ended before it sent who it is.

        Raises
        ------
        FabricError
            If a limit of this process leaves no room for it.
        """
        try:
            connection, _ = self.socket.accept()
        except OSError as error:
            raise limited(error) from None
        descriptors = array("i")
        try:
            message, extra, flags, _ = connection.recvmsg(_MOST_BYTES, socket.CMSG_SPACE(descriptors.itemsize))
        except ConnectionResetError:
            message, extra, flags = b"", [], 0
        if not message:
            connection.close()
            return None
        for _level, _kind, data in extra:
            descriptors.frombytes(data[:descriptors.itemsize])
        request, _ = read_request(message)
        if not descriptors or flags & socket.MSG_CTRUNC:
            raise limited(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
        try:
            segment = mmap.mmap(descriptors[0], 0, flags=mmap.MAP_SHARED)
        except OSError as error:
            raise limited(error, f" for {request.in_bytes:,} bytes of rank {request.rank}") from None
        os.close(descriptors[0])
        connection.setblocking(False)
        return Link(connection, request.rank, request.elements, np.frombuffer(segment, np.uint8))

    def close(self) -> None:
        """Takes no more."""
        self.socket.close()


_LIMITS = {
    errno.EMFILE: "the limit of open files (ulimit -n) is too low",
    errno.ENFILE: "the machine has no more open files",
    errno.ENOMEM: "the limit of address space (ulimit -v) is too low",
    errno.EAGAIN: "the limit of processes (ulimit -u) is too low",
}


def limited(error: OSError, what: str = "") -> FabricError:
    """Which limit it is that the operating system has refused `what` for; raises `error` again if it is none."""
    if error.errno not in _LIMITS:
        raise error
    return FabricError(f"{_LIMITS[error.errno]}{what}: {error.strerror}")


def segment_bytes(ranks: int) -> int:
    """How long the segments of so many ranks may be: all of them stand in the address space of this process.

    Raises
    ------
    FabricError
        If its limit leaves too little.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return _SEGMENT_BYTES
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    # Half is left to the simulated NICs, and to the programs, which have the same limit.
    room = (limit - used) // 2 // ranks // resource.getpagesize() * resource.getpagesize()
    if room < _LEAST_SEGMENT_BYTES:
        raise FabricError(
            f"the limit of address space (ulimit -v) of {limit:,} bytes is too low for {ranks} ranks: {used:,} are "
            f"used, and each rank takes {2 * _LEAST_SEGMENT_BYTES:,}"
        )
    return min(_SEGMENT_BYTES, room)
