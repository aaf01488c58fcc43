"""Small parts in Amaranth's own simulator: random streams and levels in, whatever comes out beside a model."""

import random
from collections.abc import Callable
from typing import Any

from amaranth import Module, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib import wiring
from amaranth.sim import Simulator

Step = Callable[[Callable[[ValueLike], int]], None]
"""Called in each cycle before the clock edge with a function that reads a signal's bits."""


class Offers:
    """A stream into a part: random items, each offered until it is taken, with pauses.

    Parameters
    ----------
    port : stream interface
        Where they go.
    rng : Random
        For contents and pauses.
    item : callable, optional
        Draws the bits of an item; any bits if left out.
    """

    def __init__(self, port: Any, rng: random.Random, item: Callable[[], int] | None = None):
        self.port, self.rng = port, rng
        self.item = item or (lambda: rng.getrandbits(len(Value.cast(port.payload))))
        self.may: Callable[[], bool] = lambda: True
        """True if there may be a further item."""
        self.rate = 0.5
        """Probability that an item follows in the cycle after the one before it was taken."""
        self.taken: list[int] = []
        self.offered: int | None = None

    def drive(self, context: Any) -> None:
        """Offers an item, or none."""
        if self.offered is None and self.rng.random() < self.rate and self.may():
            self.offered = self.item()
        context.set(self.port.valid, self.offered is not None)
        shown = self.offered if self.offered is not None else self.rng.getrandbits(9)
        context.set(Value.cast(self.port.payload), shown)

    def settle(self, read: Callable[[ValueLike], int]) -> None:
        """Notes an item that is being taken."""
        if self.offered is not None and read(self.port.ready):
            self.taken.append(self.offered)
            self.offered = None


class Takes:
    """A stream out of a part, taken at random times. What is on offer stays, unless it may be `overtaken`."""

    def __init__(self, port: Any, rng: random.Random, *, overtaken: bool = False):
        self.port, self.rng, self.overtaken = port, rng, overtaken
        self.rate = 0.5
        """Probability that an item is taken in a cycle."""
        self.taken: list[int] = []
        self._waits: int | None = None

    def drive(self, context: Any) -> None:
        """Takes what is offered, or not."""
        context.set(self.port.ready, self.rng.random() < self.rate)

    def settle(self, read: Callable[[ValueLike], int]) -> None:
        """Notes an item that is being taken; one that waits must stay as it is."""
        item = read(Value.cast(self.port.payload)) if read(self.port.valid) else None
        assert self.overtaken or self._waits in (None, item), "an offer was taken back, or changed"
        self._waits = None
        if item is not None and read(self.port.ready):
            self.taken.append(item)
        else:
            self._waits = item


def run(
    part: wiring.Component, ends: list[Offers | Takes], *, step: Step | None = None, cycles: int = 2000,
    levels: tuple[Any, ...] = (), rng: random.Random,
) -> None:
    """Lets a part run. `levels` are inputs that get any bits in each cycle."""
    async def bench(context: Any) -> None:
        def read(signal: ValueLike) -> int:
            return int(context.get(signal))

        for _ in range(cycles):
            for end in ends:
                end.drive(context)
            for level in levels:
                context.set(level, rng.getrandbits(len(level)))
            await context.delay(1e-7)
            if step is not None:
                step(read)
            for end in ends:
                end.settle(read)
            await context.tick()

    m, beat = Module(), Signal()
    m.submodules.part = part
    m.d.sync += beat.eq(~beat)  # a part without registers has no clock of its own
    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def fields(shape: Any, bits: int) -> dict[str, int]:
    """The fields of a struct, as numbers."""
    return {name: bits >> field.offset & (1 << field.width) - 1 for name, field in shape}
