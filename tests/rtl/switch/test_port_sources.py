"""Sources of ports: each is what was written for it last, and the shown one is that of the port."""

import random

import pytest
from amaranth import Value

from rtl.switch.port_sources import PortSource, PortSources
from testbench.parts.faults import changed
from testbench.parts.simulation import run

BITS = len(Value.cast(PortSource.const(None)))


@pytest.mark.parametrize("radix", [2, 5, 8])
def test_sources(radix: int) -> None:
    rng, part = random.Random(radix), PortSources(radix=radix)
    sources = [0] * radix
    shown: int | None = None
    n_written = 0

    class Registers:
        def drive(self, context) -> None:
            self.port, self.set, self.bits = rng.randrange(radix), rng.random() < 0.5, rng.getrandbits(BITS)
            context.set(part.port, self.port)
            context.set(part.set, self.set)
            context.set(Value.cast(part.source), self.bits)

        def settle(self, read) -> None:
            nonlocal shown, n_written
            assert [read(Value.cast(source)) for source in part.o] == sources
            assert shown is None or read(Value.cast(part.shown)) == shown
            shown = sources[self.port]
            if self.set:
                sources[self.port] = self.bits
                n_written += 1

    run(part, [Registers()], cycles=300, rng=rng)
    assert n_written > 100


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("self.set & (self.port == number)", "self.set", id="written-to-all"),
    pytest.param("Array(self.o)[self.port]", "self.o[0]", id="port-0-shown"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PortSources", changed(PortSources, old, new))
    with pytest.raises(AssertionError):
        test_sources(5)
