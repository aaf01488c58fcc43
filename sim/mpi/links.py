"""Connections of ranks: a socket without a name in any file system, and a segment of memory from each of them."""

import contextlib
import mmap
import os
import secrets
import socket
from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.mpi.wire import ANSWER, HEAD_BYTES, REQUEST, AnswerKind, Request, read_request, text

_MOST_BYTES = REQUEST.size + (1 << 17)


@dataclass(eq=False)
class Link:
    """The connection of one thread of a rank.

    Members
    -------
    rank, pid : int
        Of MPI_COMM_WORLD, and its process.
    memory : array of bytes
        The segment: at its beginning the call of MPI's that the thread is in, then operands and results.
    """

    socket: socket.socket
    rank: int
    pid: int
    memory: NDArray[np.uint8]

    def hear(self) -> tuple[Request, bytes] | None:
        """The next message, or None if the other end is gone. Raises :class:`BlockingIOError` if there is none yet."""
        try:
            message = self.socket.recv(_MOST_BYTES)
        except ConnectionResetError:
            return None
        return read_request(message) if message else None

    @property
    def inside(self) -> str:
        """The call of MPI's that may block and that the thread is in; empty if it is in none."""
        return text(self.memory[:HEAD_BYTES].tobytes())

    def answer(self, request: Request, kind: AnswerKind, now: float) -> None:
        """Says what became of a call; a rank that is gone hears nothing."""
        with contextlib.suppress(OSError):
            self.socket.send(ANSWER.pack(request.id, kind, 0, now))

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
        """Takes a connection and its segment; None if the rank has ended before it sent who it is."""
        connection, _ = self.socket.accept()
        descriptors = array("i")
        try:
            message, extra, _, _ = connection.recvmsg(_MOST_BYTES, socket.CMSG_SPACE(descriptors.itemsize))
        except ConnectionResetError:
            message, extra = b"", []
        if not message:
            connection.close()
            return None
        for _level, _kind, data in extra:
            descriptors.frombytes(data[:descriptors.itemsize])
        request, _ = read_request(message)
        segment = mmap.mmap(descriptors[0], 0, flags=mmap.MAP_SHARED)
        os.close(descriptors[0])
        connection.setblocking(False)
        return Link(connection, request.rank, request.elements, np.frombuffer(segment, np.uint8))

    def close(self) -> None:
        """Takes no more."""
        self.socket.close()
