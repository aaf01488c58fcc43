"""Stand-ins for those around a small part: lists of items, answers to questions, packets, ports of a memory."""

import random
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from amaranth.hdl import ValueLike

from testbench.parts.simulation import Offers, Takes


class OffersOf(Offers):
    """The items of a list, one after the other. The list may grow meanwhile."""

    def __init__(self, port: Any, rng: random.Random, items: Sequence[int]):
        super().__init__(port, rng, lambda: items[len(self.taken)])
        self.may = lambda: len(self.taken) < len(items)


class Answers(Offers):
    """One answer to each item that has been taken from another stream, in order.

    Parameters
    ----------
    port : stream interface
        Where they go.
    rng : Random
        For pauses.
    asked : Takes
        The questions.
    answer : callable
        Gives the bits of an answer to those of a question. Called once for each.
    """

    def __init__(self, port: Any, rng: random.Random, asked: Takes, answer: Callable[[int], int]):
        super().__init__(port, rng, lambda: answer(asked.taken[len(self.taken)]))
        self.may = lambda: len(self.taken) < len(asked.taken)


class PacketOffers:
    """Packets into a part (:class:`rtl.interface.PacketSignature`): each header, then the beats of its payload.

    Parameters
    ----------
    port : interface
        Where they go.
    rng : Random
        For pauses.
    packets : iterable of (int, list of int)
        Bits of each header, and of the beats behind it. Each is drawn when it can be offered.
    """

    def __init__(self, port: Any, rng: random.Random, packets: Iterable[tuple[int, Sequence[int]]]):
        self._packets, self._next = iter(packets), list[tuple[int, Sequence[int]]]()
        self._beats: list[int] = []
        self.header = Offers(port.header, rng, self._draw)
        self.payload = OffersOf(port.payload, rng, self._beats)
        self.header.may = self._may
        self.payload.may = lambda: self.header.offered is None and len(self.payload.taken) < len(self._beats)

    def _may(self) -> bool:
        if len(self.payload.taken) < len(self._beats):
            return False
        if not self._next:
            self._next = [*islice(self._packets, 1)]
        return bool(self._next)

    def _draw(self) -> int:
        header, beats = self._next.pop()
        self._beats += beats
        return header

    def drive(self, context: Any) -> None:
        """Offers a header or a beat, or nothing."""
        self.header.drive(context)
        self.payload.drive(context)

    def settle(self, read: Callable[[ValueLike], int]) -> None:
        """Notes what is being taken."""
        self.header.settle(read)
        self.payload.settle(read)

    @property
    def done(self) -> bool:
        """True if all packets have been taken."""
        return self.header.offered is None and not self.payload.may() and not self._may()


class PacketTakes:
    """Packets out of a part: `taken` has the bits of each header and of the beats behind it.

    A beat comes only behind a header, and a header only behind the last beat of the packet before it, or behind one
    without beats.

    Parameters
    ----------
    port : interface
        Where they come from.
    rng : Random
        For pauses.
    n_beats : callable
        Gives the beats of a packet by the bits of its header.
    """

    def __init__(self, port: Any, rng: random.Random, n_beats: Callable[[int], int]):
        self.header, self.payload = Takes(port.header, rng), Takes(port.payload, rng)
        self._port, self._n_beats = port, n_beats
        self.taken: list[tuple[int, list[int]]] = []
        self.left = 0
        """Beats of the last packet that are still to come."""

    def drive(self, context: Any) -> None:
        """Takes what is offered, or not."""
        self.header.drive(context)
        self.payload.drive(context)

    def settle(self, read: Callable[[ValueLike], int]) -> None:
        """Notes a header or a beat, and checks their order."""
        assert not read(self._port.header.valid) or self.left == 0, "a header within a payload"
        assert not read(self._port.payload.valid) or self.left > 0, "a beat that belongs to no packet"
        heads, beats = len(self.header.taken), len(self.payload.taken)
        self.header.settle(read)
        self.payload.settle(read)
        for beat in self.payload.taken[beats:]:
            self.taken[-1][1].append(beat)
            self.left -= 1
        for header in self.header.taken[heads:]:
            self.taken.append((header, []))
            self.left = self._n_beats(header)


class MemoryWrites:
    """Memory behind a write port (:class:`rtl.interface.WriteSignature`), which refuses a part of the requests.

    `taken` has address, bytes and beats of each request, `errors` those that were refused, in order. Data come behind
    their request, as many beats as it has, the last one marked.
    """

    def __init__(self, port: Any, rng: random.Random, *, width: int, refused: float = 0.3):
        self.request, self.data = Takes(port.request, rng), Takes(port.data, rng)
        self._port, self._width = port, width
        self.taken: list[tuple[int, int, list[int]]] = []
        self.errors: list[int] = []
        self.whole = self._left = 0
        self.done = Offers(port.done, rng, lambda: self._outcome(rng.random() < refused))
        self.done.may = lambda: len(self.done.taken) < self.whole

    def _outcome(self, error: bool) -> int:
        self.errors.append(int(error))
        return int(error)

    def drive(self, context: Any) -> None:
        """Takes requests and data, or not, and answers."""
        for stream in (self.request, self.data, self.done):
            stream.drive(context)

    def settle(self, read: Callable[[ValueLike], int]) -> None:
        """Notes what is being taken, and checks that data belong to their request."""
        requests, beats = len(self.request.taken), len(self.data.taken)
        assert not read(self._port.data.valid) or self._left > 0, "data without a request"
        for stream in (self.request, self.data, self.done):
            stream.settle(read)
        for beat in self.data.taken[beats:]:
            self.taken[-1][2].append(beat % (1 << self._width))
            self._left -= 1
            assert beat >> self._width == (self._left == 0), "the mark is not at the last beat"
            self.whole += self._left == 0
        for request in self.request.taken[requests:]:
            assert self._left == 0, "a request within the data of another one"
            address, size = request % (1 << 64), request >> 64
            assert size > 0
            self.taken.append((address, size, []))
            flit_bytes = self._width // 8
            self._left = -(-(address % flit_bytes + size) // flit_bytes)


class MemoryReads:
    """Memory behind a read port (:class:`rtl.interface.ReadSignature`): any data, errors for a part of the requests.

    `taken` has address, bytes, beats and the error of each request.
    """

    def __init__(self, port: Any, rng: random.Random, *, width: int, refused: float = 0.3):
        self.request = Takes(port.request, rng)
        self._rng, self._width, self._refused = rng, width, refused
        self.taken: list[tuple[int, int, list[int], int]] = []
        self._beats: list[int] = []
        self.data = OffersOf(port.data, rng, self._beats)

    def drive(self, context: Any) -> None:
        """Takes requests, or not, and brings data."""
        self.request.drive(context)
        self.data.drive(context)

    def settle(self, read: Callable[[ValueLike], int]) -> None:
        """Notes a request and draws its data."""
        known = len(self.request.taken)
        self.request.settle(read)
        self.data.settle(read)
        for request in self.request.taken[known:]:
            address, size, error = request % (1 << 64), request >> 64, int(self._rng.random() < self._refused)
            assert size > 0
            flit_bytes = self._width // 8
            beats = [self._rng.getrandbits(self._width) for _ in range(-(-(address % flit_bytes + size) // flit_bytes))]
            self.taken.append((address, size, beats, error))
            marks = [0] * (len(beats) - 1) + [1 | error << 1]
            self._beats += [beat | mark << self._width for beat, mark in zip(beats, marks, strict=True)]
