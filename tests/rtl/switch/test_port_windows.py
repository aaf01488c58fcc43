"""Windows of ports: each is shown, and ends as often as was written for it last."""

import random

import pytest

from rtl.switch.port_windows import WINDOW_BITS, PortWindows
from testbench.parts.faults import changed
from testbench.parts.simulation import run


@pytest.mark.parametrize("radix", [2, 5])
def test_windows(radix: int) -> None:
    """Short ones, for which a run is long enough, and the longest; written at any time, that of any port read. Time
    stands still now and then, and begins anew.
    """
    rng, part = random.Random(radix), PortWindows(radix=radix)
    windows, times = [0] * radix, [0, 0, 0]
    shown: int | None = None
    counted: list[int] = []
    n_ended = [0] * 8

    class Registers:
        def drive(self, context) -> None:
            self.port, self.set = rng.randrange(radix), rng.random() < 0.02
            self.window = rng.choice([0, 1, 2, 3, 5, 7, (1 << WINDOW_BITS) - 1])
            self.runs = rng.random() > 0.002
            context.set(part.waits, rng.randrange(1, 1 << radix) if self.runs else 0)
            context.set(part.port, self.port)
            context.set(part.set, self.set)
            context.set(part.log2_cycles, self.window if self.set else rng.getrandbits(WINDOW_BITS))

        def settle(self, read) -> None:
            nonlocal shown, counted
            # A window that has not changed ends when the count two cycles before was full.
            ended = read(part.ended)
            for number, window in enumerate(counted):
                if window == windows[number]:
                    ends = window != 0 and times[-3] % (1 << window) == (1 << window) - 1
                    assert ended >> number & 1 == ends, (number, window, times)
                    if ends:
                        n_ended[window] += 1
            assert shown is None or read(part.shown) == shown
            shown, counted = windows[self.port], list(windows)
            times.append(times[-1] + 1 if self.runs else 0)
            if self.set:
                windows[self.port] = self.window

    run(part, [Registers()], cycles=3000, rng=rng)
    assert all(n_ended[window] > 3 for window in (1, 2, 3, 5, 7))


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("cycles[:n].all()", "cycles[:n - 1].all() if n > 1 else 1", id="twice-as-often"),
    pytest.param("windows[self.port].eq(self.log2_cycles)", "windows[0].eq(self.log2_cycles)", id="written-to-port-0"),
    pytest.param("m.d.sync += cycles.eq(0)", "m.d.sync += cycles.eq(cycles)", id="time-that-goes-on"),
    pytest.param("self.waits.any()", "self.waits[0]", id="port-0-waits"),
    pytest.param("Const(0, 1)", "Const(1, 1)", id="never-is-always"),
    pytest.param("self.shown.eq(windows[self.port])", "self.shown.eq(windows[0])", id="port-0-shown"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PortWindows", changed(PortWindows, old, new))
    with pytest.raises(AssertionError):
        test_windows(5)
