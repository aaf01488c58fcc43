"""Range of an operation around a fragment: against integers of any size, at the edges of words and addresses."""

import random
from collections import Counter

import pytest

from rtl.abi import P2pRange
from rtl.p2p.range_check import RangeCheck
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs
from testbench.parts.simulation import run

CYCLES = 1500
TOP, MOST = 1 << 64, 1 << 32


def near(rng: random.Random, *edges: int, limit: int) -> int:
    """A number at one of some edges, or a few beside it; now and then any."""
    return (rng.choice(edges) + rng.randint(-2, 2) if rng.random() < 0.8 else rng.randrange(limit)) % limit


@pytest.mark.parametrize("flit_bytes", [8, 64])
@pytest.mark.parametrize("seed", range(2))
def test_range(flit_bytes: int, seed: int) -> None:
    rng, part = random.Random(seed), RangeCheck(flit_bytes=flit_bytes)
    counts: Counter[str] = Counter()
    shown, enabled = dict[str, int](), False
    expected: dict[str, int | bool] = {}

    def drive(assign) -> None:
        nonlocal enabled
        enabled = rng.random() < 0.7
        n_bytes = near(rng, 0, 2048, limit=1 << 13)
        before = near(rng, 0, 2048, 1 << 31, limit=MOST) & (-flit_bytes if rng.random() < 0.8 else -1)
        shown.update({
            "addr": near(rng, 0, before, TOP, 1 << 40, limit=TOP), "bytes": n_bytes, "part": rng.getrandbits(1),
            "before": before, "left": near(rng, 0, n_bytes, MOST - before, limit=MOST),
        })
        for name in ("addr", "bytes", "part"):
            assign(getattr(part, name), shown[name])
        assign(part.range.as_value(), P2pRange.const({name: shown[name] for name in ("before", "left")}).as_bits())
        assign(part.enable, enabled)

    def settle(read) -> None:
        found = {name: read(getattr(part, name)) for name in ("whole_addr", "whole_bytes", "fits", "below")}
        if expected:
            assert found["fits"] == expected["fits"]
            if found["fits"]:
                assert found["below"] == expected["below"]
                assert found["whole_bytes"] == expected["bytes"]
            if found["fits"] and not found["below"]:
                assert found["whole_addr"] == expected["addr"]
        if enabled:
            reasons = {
                "short": shown["left"] < shown["bytes"], "long": shown["before"] + shown["left"] >= MOST,
                "between flits": shown["before"] % flit_bytes != 0, "empty": shown["part"] and shown["bytes"] == 0,
            }
            first = shown["addr"] - shown["before"]
            counts.update(name for name, holds in reasons.items() if holds and sum(map(bool, reasons.values())) == 1)
            counts["below" if first < 0 else "proper"] += not any(reasons.values())
            expected.update({"fits": not any(reasons.values()), "below": first < 0, "addr": first,
                             "bytes": shown["before"] + shown["left"]})

    run(part, [Inputs(drive, settle)], cycles=CYCLES, rng=rng)
    assert min(counts[name] for name in ("short", "long", "between flits", "empty", "below", "proper")) > 5, counts


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("self.bytes > left", "0", id="shorter-than-its-fragment"),
    pytest.param("self.bytes > left", "self.bytes >= left", id="last-fragment-refused"),
    pytest.param("total[-1],", "", id="sum-wraps"),
    pytest.param("before[:(self.flit_bytes - 1).bit_length()].any(),", "", id="between-flits"),
    pytest.param("self.part & (self.bytes == 0)", "0", id="part-without-data"),
    pytest.param("first.eq(self.addr - before)", "first.eq(self.addr)", id="before-not-looked-at"),
    pytest.param("Cat(self.whole_addr, self.below).eq(first)", "self.whole_addr.eq(first)", id="below-zero"),
    pytest.param("total.eq(before + left)", "total.eq(left)", id="end-alone"),
    pytest.param("with m.If(self.enable):", "with m.If(1):", id="loads-always"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "RangeCheck", changed(RangeCheck, old, new))
    with pytest.raises(AssertionError):
        test_range(8, 1)
