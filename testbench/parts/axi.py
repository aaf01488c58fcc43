"""Memories behind a part's AXI4 bus: they answer late and with errors, and hold the part to the protocol."""

import random
from collections.abc import Callable
from typing import Any

from amaranth.hdl import ValueLike

from rtl.dma.axi4 import BURST_INCR, PAGE_BYTES, RESP_DECERR, RESP_OKAY, RESP_SLVERR

Read = Callable[[ValueLike], int]
EXOKAY = 0b01


def contents(addr: int, width: int) -> int:
    """The flit of memory at an address."""
    return random.Random(addr).getrandbits(width)


class AddressChannel:
    """An address channel: takes bursts at random times; one that waits must stay.

    Parameters
    ----------
    axi : interface
        The bus.
    prefix : str
        ``"ar"`` or ``"aw"``.
    rng : Random
        For the times.
    burst_beats : int
        Longest burst.
    """

    def __init__(self, axi: Any, prefix: str, rng: random.Random, *, burst_beats: int):
        self.axi, self.prefix, self.rng, self.burst_beats = axi, prefix, rng, burst_beats
        self.rate = 0.5
        self.bursts: list[tuple[int, int]] = []
        """Address and beats of each."""
        self._waits: tuple[int, ...] | None = None

    def drive(self, context: Any) -> None:
        """Takes a burst, or not."""
        context.set(getattr(self.axi, f"{self.prefix}ready"), self.rng.random() < self.rate)

    def settle(self, read: Read) -> None:
        """Notes a burst that is being taken, if it is one that AXI4 allows."""
        def field(name: str) -> int:
            return read(getattr(self.axi, self.prefix + name))

        shown = (field("addr"), field("len"), field("size"), field("burst"), field("id")) if field("valid") else None
        assert self._waits in (None, shown), "an address was taken back, or changed"
        self._waits = None
        if shown is None:
            return
        addr, length, size, burst, identifier = shown
        flit, n_beats = self.axi.signature.data_width // 8, length + 1
        assert (1 << size, burst, identifier) == (flit, BURST_INCR, 0)
        assert addr % flit == 0
        assert n_beats <= self.burst_beats
        assert addr // PAGE_BYTES == (addr + n_beats * flit - 1) // PAGE_BYTES, "a burst crosses a page"
        if field("ready"):
            self.bursts.append((addr, n_beats))
        else:
            self._waits = shown


def response(rng: random.Random, *, failed: bool) -> int:
    """A response of either sort."""
    return rng.choice((RESP_SLVERR, RESP_DECERR) if failed else (RESP_OKAY, EXOKAY))


class ReadMemory:
    """Answers reads in order, beat by beat; flits of which `refuses` says so with an error."""

    def __init__(self, axi: Any, rng: random.Random, *, burst_beats: int, refuses: Callable[[int], bool]):
        self.axi, self.rng, self.refuses = axi, rng, refuses
        self.addresses = AddressChannel(axi, "ar", rng, burst_beats=burst_beats)
        self.rate = 0.5
        self.n_answered, self.n_beats = 0, 0
        self.beat: tuple[int, int] | None = None
        self._at = 0

    @property
    def under_way(self) -> int:
        """Bursts that were asked for and are not answered whole."""
        return len(self.addresses.bursts) - self.n_answered

    def drive(self, context: Any) -> None:
        """Offers the next beat, or none."""
        self.addresses.drive(context)
        axi = self.axi
        if self.beat is None and self.under_way and self.rng.random() < self.rate:
            addr, n_beats = self.addresses.bursts[self.n_answered]
            flit = axi.signature.data_width // 8
            self.beat = addr + self._at * flit, int(self._at == n_beats - 1)
            context.set(axi.rdata, contents(self.beat[0], 8 * flit))
            context.set(axi.rresp, response(self.rng, failed=self.refuses(self.beat[0])))
        context.set(axi.rvalid, self.beat is not None)
        context.set(axi.rlast, self.beat[1] if self.beat else self.rng.getrandbits(1))

    def settle(self, read: Read) -> None:
        """Notes what is being transferred."""
        self.addresses.settle(read)
        if self.beat is not None and read(self.axi.rready):
            self.n_beats += 1
            self._at = 0 if self.beat[1] else self._at + 1
            self.n_answered += self.beat[1]
            self.beat = None


class WriteMemory:
    """Takes writes, hands each written byte to `write`, and acknowledges bursts in order.

    Those that have a flit of which `refuses` says so are acknowledged with an error.
    """

    def __init__(self, axi: Any, rng: random.Random, *, burst_beats: int, refuses: Callable[[int], bool],
                 write: Callable[[int, int], None]):
        self.axi, self.rng, self.refuses, self.write = axi, rng, refuses, write
        self.addresses = AddressChannel(axi, "aw", rng, burst_beats=burst_beats)
        self.rate = self.answer_rate = 0.5
        self.beats: list[tuple[int, int, int]] = []
        """Data, strobes and the mark of the last beat, of bursts whose address has not come yet, or which go on."""
        self.written: list[bool] = []
        """Outcomes of the bursts that were written whole: true if they fail."""
        self.n_answered, self.n_beats = 0, 0
        self._at, self._failed = 0, False
        self._waits: tuple[int, int, int] | None = None
        self._inside = self._answers = False

    def drive(self, context: Any) -> None:
        """Takes a beat, or not; acknowledges the next burst, or not."""
        self.addresses.drive(context)
        context.set(self.axi.wready, self.rng.random() < self.rate)
        if not self._answers and self.n_answered < len(self.written) and self.rng.random() < self.answer_rate:
            self._answers = True
            context.set(self.axi.bresp, response(self.rng, failed=self.written[self.n_answered]))
        context.set(self.axi.bvalid, self._answers)

    def settle(self, read: Read) -> None:
        """Notes what is being transferred. Beats of a burst follow each other: its data were there when it began."""
        axi = self.axi
        self.addresses.settle(read)
        shown = (read(axi.wdata), read(axi.wstrb), read(axi.wlast)) if read(axi.wvalid) else None
        assert self._waits in (None, shown), "data were taken back, or changed"
        assert shown is not None or not self._inside, "a burst waits for its data"
        self._waits = None
        if shown is not None and read(axi.wready):
            self.beats.append(shown)
            self.n_beats += 1
            self._inside = not shown[2]
        else:
            self._waits = shown
        if self._answers and read(axi.bready):
            self.n_answered += 1
            self._answers = False
        while self.beats and len(self.written) < len(self.addresses.bursts):
            self._apply(*self.beats.pop(0))

    def _apply(self, word: int, strobes: int, is_last: int) -> None:
        addr, n_beats = self.addresses.bursts[len(self.written)]
        flit = self.axi.signature.data_width // 8
        place = addr + self._at * flit
        assert is_last == (self._at == n_beats - 1), "the last beat is marked, and no other one"
        self._failed |= self.refuses(place)
        for k in range(flit):
            if strobes >> k & 1:
                self.write(place + k, word >> 8 * k & 0xFF)
        self._at += 1
        if is_last:
            self.written.append(self._failed)
            self._at, self._failed = 0, False
