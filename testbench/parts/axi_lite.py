"""AXI4-Lite manager for the registers of a small part: one write and one read at a time, each at its own pace."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import ValueLike

OKAY, SLVERR = 0b00, 0b10


@dataclass(frozen=True, kw_only=True)
class Write:
    """A word that is written; bytes of which `strobe` has the bits."""

    addr: int
    data: int
    strobe: int = 0b1111


class AxiLiteManager:
    """Writes and reads registers. Address and data of a write come in either order, answers are taken at random times.

    Parameters
    ----------
    bus : AxiLiteSignature interface
        Of the part.
    rng : Random
        For pauses.
    draw_write, draw_read : callable
        Give the next write; the address of the next read. None for none in this cycle.
    on_write, on_read : callable
        Called with a write and its response; with an address, the response and the data.
    """

    def __init__(
        self, bus: Any, rng: random.Random, *, draw_write: Callable[[], Write | None],
        draw_read: Callable[[], int | None], on_write: Callable[[Write, int], None],
        on_read: Callable[[int, int, int], None],
    ):
        self.bus, self.rng = bus, rng
        self.draw_write, self.draw_read, self.on_write, self.on_read = draw_write, draw_read, on_write, on_read
        self.write: Write | None = None
        self.read: int | None = None
        self._left: dict[str, bool] = {"aw": False, "w": False, "ar": False}
        self._shown = dict(self._left)

    def taken(self, name: str) -> bool:
        """True if the part `name` (``aw``, ``w`` or ``ar``) of the access in progress has been taken."""
        return (self.read if name == "ar" else self.write) is not None and not self._left[name]

    def drive(self, context: Any) -> None:
        """Begins an access, or offers what is left of it. An offer stays until it is taken."""
        if self.write is None and self.rng.random() < 0.3:
            self.write = self.draw_write()
            self._left["aw"] = self._left["w"] = self.write is not None
        if self.read is None and self.rng.random() < 0.3:
            self.read = self.draw_read()
            self._left["ar"] = self.read is not None
        for name, left in self._left.items():
            self._shown[name] = left and (self._shown[name] or self.rng.random() < 0.5)
            context.set(getattr(self.bus, f"{name}valid"), self._shown[name])
        write = self.write or Write(addr=0, data=0)
        context.set(self.bus.awaddr, write.addr if self._shown["aw"] else self.rng.getrandbits(9))
        context.set(self.bus.wdata, write.data if self._shown["w"] else self.rng.getrandbits(9))
        context.set(self.bus.wstrb, write.strobe if self._shown["w"] else self.rng.getrandbits(4))
        context.set(self.bus.araddr, self.read if self._shown["ar"] else self.rng.getrandbits(9))
        context.set(self.bus.bready, self.rng.getrandbits(1))
        context.set(self.bus.rready, self.rng.getrandbits(1))

    def settle(self, read: Callable[[ValueLike], int]) -> None:
        """Notes what is taken, and answers."""
        bus = self.bus
        if read(bus.bvalid):
            assert self.write is not None, "an answer to no write"
            assert not (self._left["aw"] | self._left["w"]), "an answer before the write is there"
            if read(bus.bready):
                write, self.write = self.write, None
                self.on_write(write, read(bus.bresp))
        if read(bus.rvalid):
            assert self.read is not None, "an answer to no read"
            assert not self._left["ar"], "an answer before the read is there"
            if read(bus.rready):
                address, self.read = self.read, None
                self.on_read(address, read(bus.rresp), read(bus.rdata))
        for name in self._left:
            if self._shown[name] and read(getattr(bus, f"{name}ready")):
                self._left[name] = self._shown[name] = False
