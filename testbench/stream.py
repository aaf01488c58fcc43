"""Drivers, monitors and checkers for Amaranth streams in generated Verilog.

A stream member ``i`` of the component is the ports ``i__valid``, ``i__ready``, ``i__payload``; element 2 of an array of
streams ``i`` is named ``i__2``. Payloads are plain values (:mod:`testbench.codec`): a dict for a structure.

Every driver pauses at random unless it is asked not to.
"""

from abc import ABC, abstractmethod
from typing import Any

from amaranth.hdl import Shape, ShapeLike
from cocotb.handle import SimHandleBase
from cocotb.triggers import Event, RisingEdge
from cocotb_bus.drivers import BusDriver
from cocotb_bus.monitors import BusMonitor

from testbench.codec import decoder, encode
from testbench.edge import bits, every_cycle, level
from testbench.pause import pauses
from testbench.runner import rng

_bus = {"bus_separator": "__", "case_insensitive": False}


class ProtocolError(AssertionError):
    """A stream broke its rules."""


class StreamSource(BusDriver):
    """Drives items onto a stream, in order, with random idle cycles.

    While idle the payload is random, so that nobody can rely on it. Queue items with ``append``, or
    ``await send(item)``, which returns once the item has been transferred.

    Parameters
    ----------
    dut : SimHandleBase
        The component.
    name : str
        Name of the stream, an input of the component.
    shape : ShapeLike
        Shape of its payload.
    idle : float, optional
        Probability of an idle cycle; bursts of different density if not given.
    """

    _signals = ("valid", "ready")
    _optional_signals = ("payload",)

    def __init__(self, dut: SimHandleBase, name: str, shape: ShapeLike, *, idle: float | None = None):
        super().__init__(dut, name, dut.clk, **_bus)
        self.shape = shape
        self.width = Shape.cast(shape).width
        self._rng = rng(f"{name} source")
        self._idle = pauses(self._rng, idle)
        self.sent: list[Any] = []
        """Items transferred so far."""
        self._unfinished = 0
        self._taken = level(self.bus.ready)
        self._drive_idle()

    def _drive_idle(self) -> None:
        self.bus.valid.value = 0
        if self.width:
            self.bus.payload.value = self._rng.getrandbits(self.width)

    @property
    def pending(self) -> int:
        """Items not transferred yet."""
        return self._unfinished

    def append(self, transaction: Any, *args: Any, **kwargs: Any) -> None:
        """Queues an item."""
        self._unfinished += 1
        super().append(transaction, *args, **kwargs)

    def extend(self, items: Any) -> None:
        """Queues several items."""
        for item in items:
            self.append(item)

    async def send(self, transaction: Any, sync: bool = False, **kwargs: Any) -> None:
        """Transfers one item; call it right after a rising edge, and not while items are queued."""
        self._unfinished += 1
        await super().send(transaction, sync=sync, **kwargs)

    async def drain(self) -> None:
        """Waits until everything queued has been transferred."""
        while self._unfinished:
            await RisingEdge(self.clock)

    async def _driver_send(self, transaction: Any, sync: bool = True) -> None:
        edge = RisingEdge(self.clock)
        if sync:
            await edge
        while next(self._idle):
            await edge
        self.bus.valid.value = 1
        if self.width:
            self.bus.payload.value = encode(self.shape, transaction)
        await edge
        while not self._taken():
            await edge
        self.sent.append(transaction)
        self._unfinished -= 1
        self._drive_idle()


class _StreamMonitor(BusMonitor, ABC):
    _signals = ("valid", "ready")
    _optional_signals = ("payload",)

    def __init__(self, dut: SimHandleBase, name: str, shape: ShapeLike, **kwargs: Any):
        self.shape = shape
        self.width = Shape.cast(shape).width
        self._decode = decoder(shape)
        super().__init__(dut, name, dut.clk, **kwargs, **_bus)
        self._valid, self._ready = level(self.bus.valid), level(self.bus.ready)
        self._sample = bits(self.bus.payload) if self.width else lambda: 0

    async def _monitor_recv(self) -> None:
        every_cycle(self.clock, self._cycle)

    @abstractmethod
    def _cycle(self) -> None:
        """Carries out one cycle, right after a rising edge."""


class StreamMonitor(_StreamMonitor):
    """Collects what is transferred on a stream, without driving it.

    Parameters
    ----------
    dut, name, shape
        As for :class:`StreamSource`, for an input or output of the component.
    callback : callable, optional
        Called with every item. Without it the items are collected in `received`.
    """

    def __init__(self, dut: SimHandleBase, name: str, shape: ShapeLike, *, callback: Any = None):
        self.received: list[Any] = []
        super().__init__(dut, name, shape, callback=callback or self.received.append)

    def _cycle(self) -> None:
        if self._valid() and self._ready():
            self._recv(self._decode(self._sample()))


class StreamSink(_StreamMonitor):
    """Takes items from a stream, with random backpressure, and checks the stream as :class:`StreamChecker` does.

    Parameters
    ----------
    dut, name, shape
        As for :class:`StreamSource`, for an output of the component.
    stall : float, optional
        Probability of a cycle without ready; bursts of different density if not given.
    callback : callable, optional
        Called with every item, besides collecting it in `received`.
    """

    def __init__(
        self, dut: SimHandleBase, name: str, shape: ShapeLike, *, stall: float | None = None, callback: Any = None
    ):
        self.received: list[Any] = []
        """Items transferred so far."""
        self._taken = 0
        self._arrival = Event()
        self._stall = pauses(rng(f"{name} sink"), stall)
        self._offers = False
        super().__init__(dut, name, shape, callback=self.received.append)
        if callback is not None:
            self.add_callback(callback)
        self.checker = StreamChecker(dut, name, shape)
        self.bus.ready.value = 0

    def set_stall(self, rate: float | None) -> None:
        """Changes the backpressure from the next cycle on."""
        self._stall = pauses(rng(f"{self.name} sink {len(self.received)}"), rate)

    async def receive(self) -> Any:
        """The next item that was not returned by an earlier call; waits for it if need be."""
        while self._taken == len(self.received):
            self._arrival.clear()
            await self._arrival.wait()
        self._taken += 1
        return self.received[self._taken - 1]

    async def receive_all(self, count: int) -> list[Any]:
        """The next `count` items."""
        return [await self.receive() for _ in range(count)]

    def _cycle(self) -> None:
        if self._offers and self._valid():
            self._recv(self._decode(self._sample()))
            self._arrival.set()
        ready = self._offers = not next(self._stall)
        if ready != self._ready():
            self.bus.ready.value = int(ready)


class StreamChecker(_StreamMonitor):
    """Fails the test if a stalled stream takes its offer back or changes it.

    Once valid is up it stays up, with the same payload, until ready. A reset ends an offer.
    """

    def __init__(self, dut: SimHandleBase, name: str, shape: ShapeLike):
        super().__init__(dut, name, shape)
        self._in_reset = level(dut.rst)
        self._offered: int | None = None

    def _cycle(self) -> None:
        if not self._valid():
            if self._offered is not None and not self._in_reset():
                raise ProtocolError(f"{self.name}: valid fell before ready")
            self._offered = None
            return
        if self._in_reset():
            self._offered = None
            return
        payload = self._sample()
        if self._offered is not None and payload != self._offered:
            before, after = self._decode(self._offered), self._decode(payload)
            raise ProtocolError(f"{self.name}: payload changed while stalled, from {before} to {after}")
        self._offered = None if self._ready() else payload
