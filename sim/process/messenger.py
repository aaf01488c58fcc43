"""Messages between processes over the point-to-point path of their NICs, as an MPI library sends them.

A message that fits into a mini packet travels in it (SEND). One of at most ``mpi.eager_bytes`` is written into a slot
that the receiver keeps for it (PUT), and a mini packet behind it says so: the network keeps their order. A longer one
is announced by a mini packet; when the receiver wants it, it reads it (GET), and a mini packet tells the sender that
its memory is free.

The receiver gets a message right where it belongs, if it lies on a flit's boundary and nothing there is still being
sent; otherwise into a buffer from which it is combined, or copied. Slots are never short, and nothing is registered
while time passes: both favour hosts.
"""

from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firmware_models.abi.encoding import P2pOp
from firmware_models.host import Completion, Received
from sim.process.notice import HEADER_BYTES, SHORT_BYTES, UNTAGGED, Notice, notice, parsed, transfer
from sim.process.process import Process, ProcessError
from sim.process.program import Message

_RESERVE = 32
"""Entries of the descriptor ring for answers, which never wait for room."""

Bytes = NDArray[np.uint8]
Waiting = Generator[None, None, None]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Memory of a process, and where peers find it.

    Members
    -------
    node_id, vp : int
        Of its port.
    vector, bounce : int
        Addresses: of the vector that it works on; of memory from which eager messages leave.
    buffers : tuple of int
        Addresses of buffers for messages.
    slots : tuple of int
        Of each message that it receives: address of its slot if it comes eagerly, or 0.
    """

    node_id: int
    vp: int
    vector: int
    bounce: int
    buffers: tuple[int, ...]
    slots: tuple[int, ...]


class Messenger:
    """Sends and receives for one process.

    Parameters
    ----------
    process : Process
        Whose messages they are.
    rank : int
        Its rank.
    places : sequence of Place
        Of all processes of the job.
    messages : sequence of Message
        What it will receive.
    flit_bytes : int
        Alignment of addresses on the NIC.
    """

    def __init__(
        self, process: Process, rank: int, places: Sequence[Place], messages: Sequence[Message], *, flit_bytes: int
    ):
        self.process, self.rank, self.places, self.messages = process, rank, places, messages
        self.here = places[rank]
        self._ranks = {place.node_id: number for number, place in enumerate(places)}
        self._memory = process.port.driver.memory
        self._flit = flit_bytes
        self._eager = process.host.mpi.eager_bytes
        self._wanted: set[int] = set()  # somebody waits for these, and they have not been announced
        self._expected: dict[int, set[int]] = defaultdict(set)
        for message in messages:
            self._expected[message.sender].add(message.number)
        self._free = list(self.here.buffers)
        self._buffer_of: dict[int, int] = {}
        self._ready: dict[int, int] = {}  # announced and not asked for yet: address at the sender
        self._where: dict[int, int] = {}  # of each message that is on its way or there: its address here
        self._there: set[int] = set()
        self._short: dict[int, bytes] = {}
        self._unfree: dict[tuple[int, int], tuple[int, int]] = {}  # sent and not read yet: bytes of the vector
        self._bounce = self.here.bounce

    # Sending.

    def send(self, message: Message, first: int) -> Waiting:
        """Sends bytes of the vector from `first` on as `message`; returns when the library has done its part."""
        self.process.work(self.process.host.mpi.match_ns)
        yield from self._room()
        data = self._vector(first, message.n_bytes)
        if message.n_bytes <= SHORT_BYTES and message.n_bytes <= self._eager:
            self._post(self._notice(message.receiver, Notice.SHORT, message.number, payload=data.tobytes()))
        elif message.n_bytes <= self._eager:
            self._send_eagerly(message, data)
        else:
            address = self.here.vector + first
            self._unfree[message.receiver, message.number] = first, first + message.n_bytes
            self._post(self._notice(message.receiver, Notice.READY, message.number, address))

    def _send_eagerly(self, message: Message, data: Bytes) -> None:
        there = self.places[message.receiver]
        source = self._bounce
        self._bounce += -(-message.n_bytes // 64) * 64
        self.process.move(2, message.n_bytes)
        self.process.count_dma(message.n_bytes)  # a little early: its NIC reads it right after the doorbell
        self._memory[source:source + message.n_bytes] = data
        self._post(
            transfer(
                P2pOp.PUT, self.here.vp, self._peer(message.receiver), message.n_bytes, local=source,
                remote=there.slots[message.number],
            ),
            self._notice(message.receiver, Notice.EAGER, message.number),
        )

    def settle(self, first: int, last: int) -> Waiting:
        """Waits until nothing of bytes [first, last) of the vector is still being sent."""
        while any(low < last and first < high for low, high in self._unfree.values()):
            yield

    @property
    def is_sending(self) -> bool:
        """True if something that was sent has not been read."""
        return bool(self._unfree)

    def _room(self) -> Waiting:
        while self.process.port.room < _RESERVE:
            yield

    # Receiving.

    def receive(self, number: int) -> Generator[None, None, Bytes | None]:
        """The data of the message `number`; None if they are already where they belong in the vector."""
        self.process.work(self.process.host.mpi.match_ns)
        if number in self._ready:
            self._get(number)
        elif number not in self._there:
            self._wanted.add(number)
        while number not in self._there:
            yield
        message, short = self.messages[number], self._short.pop(number, None)
        if short is not None:
            return np.frombuffer(short, np.uint8)
        address = self._where.pop(number)
        if address == self.here.vector + message.first:
            return None
        if number in self._buffer_of:
            self._free.append(self._buffer_of.pop(number))
        return np.array(self._memory[address:address + message.n_bytes])

    def _get(self, number: int) -> None:
        """Reads a message that has been announced."""
        message, remote = self.messages[number], self._ready.pop(number)
        target, last = self.here.vector + message.first, message.first + message.n_bytes
        skew = remote % self._flit
        is_busy = any(low < last and message.first < high for low, high in self._unfree.values())
        if not message.replaces or is_busy or skew or target % self._flit:
            # Whole flits are read, so that the first one begins on a boundary at both ends.
            # There is one for each part of the program that has been begun, and each waits for one message.
            target = self._buffer_of[number] = self._free.pop()
        self._where[number] = target + skew
        self._post(transfer(
            P2pOp.GET, self.here.vp, self._peer(message.sender), message.n_bytes + skew, local=target,
            remote=remote - skew, tag=number,
        ))

    # Arrivals.

    def take(self) -> Waiting:
        """Takes the next entry of the process's rings, once it has come."""
        entry = yield from self.process.next_entry()
        if isinstance(entry, Completion):
            if entry.tag != UNTAGGED:
                self._has_read(entry.tag)
        else:
            self._hear(entry)

    def _has_read(self, number: int) -> None:
        self._there.add(number)
        self.process.count_dma(self.messages[number].n_bytes)
        self._post(self._notice(self.messages[number].sender, Notice.FREE, number))

    def _hear(self, entry: Received) -> None:
        kind, number, address = parsed(entry.payload)
        peer = self._ranks[entry.source_id]
        if kind is Notice.FREE:
            first, last = self._unfree.pop((peer, number))
            self.process.count_dma(last - first)
            return
        if number not in self._expected[peer]:
            raise ProcessError(f"{self.process.name}: message {number} of rank {peer} is not expected, or came twice")
        self._expected[peer].remove(number)
        match kind:
            case Notice.SHORT:
                self._short[number] = entry.payload[HEADER_BYTES:]
                self._there.add(number)
            case Notice.EAGER:
                self._where[number] = self.here.slots[number]
                self._there.add(number)
                self.process.count_dma(self.messages[number].n_bytes)
            case Notice.READY:
                self._ready[number] = address
                if number in self._wanted:
                    self._wanted.remove(number)
                    self._get(number)

    # Descriptors.

    def _peer(self, rank: int) -> tuple[int, int]:
        return self.places[rank].node_id, self.places[rank].vp

    def _notice(
        self, receiver: int, kind: Notice, number: int, address: int = 0, *, payload: bytes = b""
    ) -> bytes:
        return notice(self.here.vp, self._peer(receiver), kind, number, address, payload=payload)

    def _post(self, *descriptors: bytes) -> None:
        self.process.post(b"".join(descriptors), len(descriptors))

    def _vector(self, first: int, n_bytes: int) -> Bytes:
        begin = self.here.vector + first
        return np.asarray(self._memory[begin:begin + n_bytes])
