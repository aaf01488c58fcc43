"""Bursts of a transfer, beside a model that cuts a range of bytes at every multiple of the burst."""

import random
from collections.abc import Iterator

import pytest

from rtl.dma.axi4 import PAGE_BYTES
from rtl.dma.burst_splitter import BurstSplitter, Request
from testbench.parts.faults import changed
from testbench.parts.pace import Pace
from testbench.parts.simulation import Offers, Takes, fields, run


def bursts(addr: int, n_bytes: int, *, flit: int, burst: int, address_bits: int) -> Iterator[dict[str, int]]:
    """The bursts of a request, without fields that mean nothing: `tail` of all but the last one."""
    start, end = addr % (1 << address_bits), addr % (1 << address_bits) + n_bytes
    at = start
    while at < end:
        bound = min(end, at // burst * burst + burst)
        one = {"addr": at // flit * flit, "beats": -(-bound // flit) - at // flit, "last": int(bound == end),
               "head": at % flit}
        yield one | ({"tail": end % flit} if bound == end else {})
        at = bound


def near(rng: random.Random, *sizes: int) -> int:
    """A multiple of one of some sizes, or a byte more or less."""
    return max(0, rng.choice(sizes) * rng.randint(0, 3) + rng.choice((-1, 0, 0, 1)))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("data_width", "max_burst_beats", "address_bits"), [
    (64, 1, 64), (64, 4, 40), (512, 256, 64), (256, 8, 32),
])
def test_burst_splitter(seed: int, data_width: int, max_burst_beats: int, address_bits: int) -> None:
    """Every byte in one burst, none across a boundary, two cycles after the request or the burst before."""
    rng, flit = random.Random(seed), data_width // 8
    burst = min(max_burst_beats * flit, PAGE_BYTES)
    part = BurstSplitter(data_width=data_width, max_burst_beats=max_burst_beats, address_bits=address_bits)

    def request() -> int:
        base = rng.getrandbits(64 - 13) << 13 & ~(1 << 20)
        sizes = (flit, burst, PAGE_BYTES)
        n_bytes = max(1, min(near(rng, flit, burst, burst), 6 * burst))
        return int(Request.const({"addr": base + near(rng, *sizes), "bytes": n_bytes}).as_bits())

    requests, found = Offers(part.i, rng, request), Takes(part.o, rng)
    expected: list[dict[str, int]] = []
    state = {"cycle": 0, "due": 0, "n_back_to_back": 0}

    def step(read) -> None:
        cycle, is_left = state["cycle"], len(expected) > len(found.taken)
        assert read(part.o.valid) == (is_left and cycle >= state["due"]), "a burst two cycles after its cause"
        state["n_back_to_back"] += read(part.o.valid) and read(part.o.ready) and cycle == state["due"]
        if read(part.o.valid) and read(part.o.ready):
            state["due"] = cycle + 2
        if requests.offered is not None and read(part.i.ready):
            one = fields(Request, requests.offered)
            if not is_left:
                state["due"] = cycle + 2
            elif len(expected) == len(found.taken) + 1:
                # The last burst of the request before is on offer, or just being taken.
                state["due"] = max(state["due"], cycle + 2) if read(part.o.ready) else state["due"]
            expected.extend(bursts(
                one["addr"], one["bytes"], flit=flit, burst=burst, address_bits=address_bits))
        state["cycle"] = cycle + 1

    run(part, [Pace(requests, found, rng=rng), requests, found], step=step, cycles=1200, rng=rng)
    shown = [fields(part.burst, item) for item in found.taken]
    for one, wanted in zip(shown, expected[:len(shown)], strict=True):
        assert {name: one[name] for name in wanted} == wanted
    assert len(shown) > 150
    assert sum(one["last"] for one in shown) > 40
    assert state["n_back_to_back"] > 50
    if max_burst_beats > 1:
        assert sum(one["beats"] == burst // flit for one in shown) > 10
        assert sum(not one["last"] for one in shown) > 20


def test_longest_request() -> None:
    """A request of all bytes that its field can say begins with whole bursts, and is not at its end."""
    part, rng = BurstSplitter(data_width=64, max_burst_beats=4), random.Random(1)
    item = {"addr": 0x1_0000_0007, "bytes": (1 << 32) - 1}
    requests, found = Offers(part.i, rng, lambda: int(Request.const(item).as_bits())), Takes(part.o, rng)
    run(part, [requests, found], cycles=300, rng=rng)
    model = bursts(item["addr"], item["bytes"], flit=8, burst=32, address_bits=64)
    shown = [fields(part.burst, taken) for taken in found.taken]
    assert len(shown) > 50
    for one, wanted in zip(shown, model, strict=False):
        assert {name: one[name] for name in wanted} == wanted


@pytest.mark.parametrize(("old", "new"), [
    ("left[:log2_burst + 1] + offset) <= self.burst_beats", "left[:log2_burst + 1] + offset) < self.burst_beats"),
    ("skipped + ((1 << self.log2_flit) - 1)", "(1 << self.log2_flit) - 1"),
    ("~left[log2_burst + 1:].any() & ", ""),
    ("                head.eq(0),\n", ""),
    ("offset.eq(0)", "offset.eq(offset)"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds off by one, beats or bytes that are forgotten, and a burst that is cut at the wrong place are found."""
    monkeypatch.setitem(globals(), "BurstSplitter", changed(BurstSplitter, old, new))
    with pytest.raises(AssertionError):
        test_burst_splitter(0, 64, 4, 40)
