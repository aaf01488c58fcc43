"""Parts of an offload unit that merge and share: each item arrives once, in order, and nothing beside it."""

import random
from collections.abc import Callable

import pytest
from amaranth import Cat, Mux

from firmware_models.abi.encoding import Status
from rtl.cou.fault_collector import FaultCollector
from rtl.cou.packet_exit import PacketExit
from rtl.cou.shapes import CouShapes
from rtl.cou.stored_packets import StoredPackets
from testbench.parts.simulation import Offers, Takes, fields, run
from testbench.unit_config import UNIT

SEEDS = range(2)


@pytest.fixture(params=SEEDS)
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


def test_faults(rng: random.Random) -> None:
    """Each once, those of one part in their order, and known to be on the way from the first cycle to the last."""
    shapes = CouShapes(UNIT)
    part = FaultCollector(shapes=shapes, registered=(False, True, True, True, True))
    sources = [
        Offers(port, rng, lambda k=k: (k << 8 | Status.TIMEOUT) << shapes.job | rng.getrandbits(shapes.job))
        for k, port in enumerate(part.i)
    ]
    sink = Takes(part.o, rng)

    def step(read) -> None:
        inside = sum(len(source.taken) for source in sources) - len(sink.taken)
        offered = any(source.offered is not None for source in sources)
        assert read(part.pending) == (inside > 0 or offered)

    run(part, [*sources, sink], step=step, rng=rng)
    by_source: list[list[int]] = [[] for _ in sources]
    for item in sink.taken:
        by_source[fields(shapes.fault, item)["detail"]].append(item)
    assert len(sink.taken) > 400
    for source, found in zip(sources, by_source, strict=True):
        assert found == source.taken[:len(found)]
        assert len(source.taken) - len(found) <= 2


def test_packets_leave(rng: random.Random) -> None:
    """Slots are freed in the order in which they were handed over, consumed packets before dropped ones."""
    shapes = CouShapes(UNIT)
    part = PacketExit(shapes=shapes)
    consumed, dropped = Offers(part.lane.free, rng), Offers(part.drops.free, rng)
    notes = Offers(part.lane.credit, rng), Offers(part.drops.credit, rng)
    freed, returned = Takes(part.free, rng), Takes(part.credit, rng, overtaken=True)
    order: list[int] = []
    events: list[int] = []
    notices: list[int] = []

    def step(read) -> None:
        for first, second, log in ((consumed, dropped, order), (*notes, notices)):
            for offer in (first, second):
                if offer.offered is not None and read(offer.port.ready):
                    assert offer is first or first.offered is None, "a dropped one before a consumed one"
                    log.append(offer.offered)
        if read(part.drops.freed.valid):
            events.append(read(part.drops.freed.payload.slot))
        assert read(part.drops.freeing) == (read(part.lane.freeing) | read(part.free.valid))
        assert read(part.lane.barred) == read(part.drops.bars)
        drops = read(part.drops.pool.taken)
        assert read(part.pool.taken) == (drops | read(part.lane.pool.taken))
        taker = part.drops.pool if drops else part.lane.pool
        assert read(part.pool.consumed.as_value()) == read(taker.consumed.as_value())
        assert read(part.lane.pool.n_left) == read(part.drops.pool.n_left) == read(part.pool.n_left)
        assert read(part.lane.pool.granted) == read(part.pool.granted)

    pools = [pool for name in ("lane", "drops") for pool in (getattr(part, name).pool,)]
    levels = (
        part.lane.freeing, part.drops.bars, part.pool.n_left, part.pool.granted,
        *(pool.taken for pool in pools), *(pool.consumed.as_value() for pool in pools),
    )
    run(part, [consumed, dropped, *notes, freed, returned], step=step, levels=levels, rng=rng)
    slots = [fields(shapes.free, item)["slot"] for item in order]
    left = [fields(shapes.exit, item)["free"] for item in freed.taken]
    assert len(left) > 300
    assert left == order[:len(left)]
    assert events == slots[:len(events)]
    assert len(events) in (len(left), len(left) + 1)
    assert returned.taken == notices[:len(returned.taken)]


@pytest.mark.parametrize("mode", ["cuckoo", "linear"])
def test_packets_are_shared(rng: random.Random, mode: str) -> None:
    """Headers are whose turn it is; a look-up of the closer goes first; answers and arrivals go to both."""
    part = StoredPackets(shapes=CouShapes(UNIT.changed(cou={"buffer_mode": mode})))
    users, buffer = (part.trigger, part.closer), part.buffer
    asks = [Offers(user.lookup.request, rng) for user in users]
    sink = Takes(buffer.lookup.request, rng, overtaken=True)
    order: list[int] = []

    def step(read) -> None:
        mine = part.closer.header if read(part.hold) else part.trigger.header
        assert read(buffer.header.slot) == read(mine.slot)
        assert read(buffer.header.enable) == (read(users[0].header.enable) | read(users[1].header.enable))
        first = int(asks[1].offered is not None)
        asked = users[first]
        for number, ask in enumerate(asks):
            if ask.offered is not None and read(ask.port.ready):
                assert number == first
                order.append(ask.offered)
        if mode == "linear":
            assert read(buffer.lookup.hash) == read(asked.lookup.hash)
        for user in users:
            one, other = user.lookup.answer, buffer.lookup.answer
            assert read(one.valid) == read(other.valid)
            assert read(one.payload.as_value()) == read(other.payload.as_value())
            assert read(user.arrival.valid) == read(buffer.arrival.valid)
            assert read(user.arrival.payload.as_value()) == read(buffer.arrival.payload.as_value())
            assert read(user.header.header.as_value()) == read(buffer.header.header.as_value())
        assert read(buffer.lookup.answer.ready) == read(users[0].lookup.answer.ready)

    levels = [
        part.hold, buffer.header.header.as_value(), buffer.lookup.answer.valid,
        buffer.lookup.answer.payload.as_value(), buffer.arrival.valid, buffer.arrival.payload.as_value(),
    ]
    for user in users:
        levels += [user.header.enable, user.header.slot, user.lookup.answer.ready]
        levels += [user.lookup.hash] if mode == "linear" else []
    run(part, [*asks, sink], step=step, levels=tuple(levels), cycles=500, rng=rng)
    assert len(order) > 100
    assert sink.taken == order


@pytest.mark.parametrize(("module", "test"), [
    ("rtl.cou.packet_exit", test_packets_leave),
    ("rtl.cou.stored_packets", lambda rng: test_packets_are_shared(rng, "cuckoo")),
])
def test_planted(module: str, test: Callable[[random.Random], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that chooses the wrong one of two is found."""
    monkeypatch.setattr(f"{module}.Mux", lambda select, one, other: Mux(select, other, one))
    with pytest.raises(AssertionError):
        test(random.Random(1))


def test_a_fault_that_nobody_knows_of_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtl.cou.fault_collector.Cat", lambda *parts: Cat(parts[0]))
    with pytest.raises(AssertionError):
        test_faults(random.Random(1))
