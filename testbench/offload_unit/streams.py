"""Streams of a unit's boundary in Amaranth's simulator: queues of plain values in, values out, packets both ways."""

import random
from collections import deque
from collections.abc import Callable
from typing import Any

from testbench.codec import decoder, encode
from testbench.offload_unit.record import HEADER, Packet
from testbench.parts.inputs import Packets, Read
from testbench.parts.simulation import Offers, Takes

Call = Callable[[Any], None]


def beats(content: bytes, flit_bytes: int, *, head: int = 0) -> list[dict[str, int]]:
    """Beats that hold `content` from byte `head` of the first one on."""
    whole = bytes(head) + content
    return [
        {"data": int.from_bytes(whole[at:at + flit_bytes], "little"), "last": int(at + flit_bytes >= len(whole))}
        for at in range(0, len(whole), flit_bytes)
    ] if content else []


class Feed(Offers):
    """A stream into which the items of `queue` go, plain values; `then` is called with each that is taken."""

    def __init__(self, port: Any, rng: random.Random, queue: deque[Any] | None = None, then: Call | None = None):
        self.queue = deque() if queue is None else queue
        self.shape, self.then, self.shown = port.payload.shape(), then, None
        super().__init__(port, rng, self._next)
        self.may = lambda: bool(self.queue)

    def _next(self) -> int:
        self.shown = self.queue.popleft()
        return encode(self.shape, self.shown)

    def settle(self, read: Read) -> None:
        """Notes an item that is being taken."""
        n_taken = len(self.taken)
        super().settle(read)
        if len(self.taken) > n_taken and self.then is not None:
            self.then(self.shown)


class Drain(Takes):
    """A stream out of which items go to `then`, as plain values."""

    def __init__(self, port: Any, rng: random.Random, then: Call):
        super().__init__(port, rng)
        self.decode, self.then = decoder(port.payload.shape()), then

    def settle(self, read: Read) -> None:
        """Hands an item on that is being taken."""
        n_taken = len(self.taken)
        super().settle(read)
        if len(self.taken) > n_taken:
            self.then(self.decode(self.taken[-1]))


class PacketFeed:
    """Packets into a unit: a header, then its payload, then the next one."""

    def __init__(self, port: Any, rng: random.Random, queue: deque[Packet], flit_bytes: int):
        self.queue, self.flit_bytes = queue, flit_bytes
        self.header, self.payload = Feed(port.header, rng, deque(), self._begun), Feed(port.payload, rng)
        self.header.may = lambda: bool(self.header.queue)
        self.ends = [self.header, self.payload]
        self.packet: Packet | None = None

    @property
    def is_idle(self) -> bool:
        """True if nothing is left to be sent."""
        return not self.queue and self.packet is None and not self.payload.queue and self.payload.offered is None

    def _begun(self, _: Any) -> None:
        self.payload.queue.extend(beats(self.packet.payload, self.flit_bytes))
        self.packet = None

    def drive(self, context: Any) -> None:
        """Offers the header, or a beat."""
        if self.queue and self.packet is None and not self.payload.queue and self.payload.offered is None:
            self.packet = self.queue.popleft()
            self.header.queue.append(dict(self.packet.header))
        for end in self.ends:
            end.drive(context)

    def settle(self, read: Read) -> None:
        """Notes what is taken."""
        header_offered = self.header.offered is not None
        self.payload.settle(read)
        if header_offered:
            self.header.settle(read)


class PacketDrain(Packets):
    """Packets out of a unit, each handed to `then` when it is whole."""

    def __init__(self, port: Any, rng: random.Random, then: Call, flit_bytes: int):
        super().__init__(port, rng, flit_bytes=flit_bytes)
        self.decode, self.then = decoder(port.header.payload.shape()), then

    @property
    def rate(self) -> float:
        """Probability of a transfer in a cycle."""
        return 1 - self.pause

    @rate.setter
    def rate(self, rate: float) -> None:
        self.pause = 1 - rate

    def settle(self, read: Read) -> None:
        """Hands a packet on whose last beat is being taken."""
        n_before, left = len(self.taken), self._left
        super().settle(read)
        if not self._left and (left or len(self.taken) > n_before):
            bits, data = self.taken[-1]
            self.then(whole(self.decode(bits), data, self.flit_bytes))


def whole(header: dict[str, int], data: list[int], flit_bytes: int) -> Packet:
    """The packet of a header and its beats."""
    payload = b"".join(word.to_bytes(flit_bytes, "little") for word in data)[:header["length"]]
    return Packet({name: header[name] for name in HEADER}, payload)
