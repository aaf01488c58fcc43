"""Streams of a unit's boundary in Amaranth's simulator: queues of plain values in, values out, packets both ways."""

import random
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from testbench.codec import decoder, encode
from testbench.offload_unit.record import HEADER, Packet
from testbench.parts.inputs import Read
from testbench.parts.simulation import Offers, Takes

Call = Callable[[Any], None]


def beats(content: bytes, flit_bytes: int, *, head: int = 0) -> list[dict[str, int]]:
    """Beats that hold `content` from byte `head` of the first one on."""
    whole = bytes(head) + content
    return [
        {"data": int.from_bytes(whole[at:at + flit_bytes], "little"), "last": int(at + flit_bytes >= len(whole))}
        for at in range(0, len(whole), flit_bytes)
    ] if content else []


def plain(port: Any) -> SimpleNamespace:
    """The signals of a stream: looking them up in an interface takes longer than all that is done with them."""
    return SimpleNamespace(valid=port.valid, ready=port.ready, payload=port.payload.as_value())


class Feed(Offers):
    """A stream into which the items of `queue` go, plain values; `then` is called with each that is taken."""

    def __init__(self, port: Any, rng: random.Random, queue: deque[Any] | None = None, then: Call | None = None):
        self.queue = deque() if queue is None else queue
        self.shape, self.then, self.shown = port.payload.shape(), then, None
        super().__init__(plain(port), rng, self._next)
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
        super().__init__(plain(port), rng)
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


class PacketDrain:
    """Packets out of a unit, each handed to `then` when it is whole."""

    def __init__(self, port: Any, rng: random.Random, then: Call, flit_bytes: int):
        self.then, self.flit_bytes, self.rng, self.rate = then, flit_bytes, rng, 0.5
        self.header, self.payload = Drain(port.header, rng, self._begin), Drain(port.payload, rng, self._go_on)
        self.fields: dict[str, int] | None = None
        self.data: list[int] = []

    def drive(self, context: Any) -> None:
        """Takes a header or a beat, whichever is due, or none."""
        self.header.rate = self.rate if self.fields is None else 0
        self.payload.rate = self.rate if self.fields is not None else 0
        self.header.drive(context)
        self.payload.drive(context)

    def settle(self, read: Read) -> None:
        """Hands a packet on whose last beat is being taken."""
        self.payload.settle(read)
        self.header.settle(read)

    def _begin(self, fields: dict[str, int]) -> None:
        self.fields, self.data = fields, []
        self._finish()

    def _go_on(self, item: dict[str, int]) -> None:
        self.data.append(item["data"])
        self._finish()

    def _finish(self) -> None:
        fields = self.fields
        if fields is not None and len(self.data) == -(-fields["length"] // self.flit_bytes):
            self.fields = None
            self.then(whole(fields, self.data, self.flit_bytes))


def whole(header: dict[str, int], data: list[int], flit_bytes: int) -> Packet:
    """The packet of a header and its beats."""
    payload = b"".join(word.to_bytes(flit_bytes, "little") for word in data)[:header["length"]]
    return Packet({name: header[name] for name in HEADER}, payload)
