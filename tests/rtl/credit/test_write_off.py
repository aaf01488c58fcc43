"""Orders to write off: each reaches the credit table once, and the pool in the same cycle."""

import random

import pytest

from rtl.credit.write_off import WriteOff
from rtl.interface import JobWriteOff
from testbench.parts.faults import changed
from testbench.parts.simulation import Offers, Takes, fields, run


@pytest.mark.parametrize("pool", [0, 1, 21])
@pytest.mark.parametrize("seed", range(2))
def test_orders(pool: int, seed: int) -> None:
    rng, part = random.Random(seed), WriteOff(pool=pool)
    lost: list[int] = []

    def item() -> int:
        return int(JobWriteOff.const({"job_id": rng.getrandbits(12), "lost": rng.randint(0, pool)}).as_bits())

    orders, table = Offers(part.i, rng, item), Takes(part.o, rng)

    def step(read) -> None:
        taken = read(part.o.valid) and read(part.o.ready)
        if taken:
            lost.append(read(part.lost))
        assert taken or not read(part.lost), "shared credits are lost without an order"

    run(part, [orders, table], step=step, cycles=400, rng=rng)
    given = [fields(JobWriteOff, order) for order in orders.taken]
    assert len(given) > 50
    assert table.taken == [order["job_id"] for order in given]
    assert lost == [order["lost"] for order in given]


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("self.i.valid & self.i.ready)", "self.i.valid)", id="lost-while-it-waits"),
    pytest.param("self.i.ready.eq(self.o.ready)", "self.i.ready.eq(1)", id="taken-before-the-table"),
    pytest.param("range(max(1, pool) + 1)", "range(max(1, pool))", id="one-bit-short"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "WriteOff", changed(WriteOff, old, new))
    with pytest.raises(AssertionError):
        test_orders(1, 1)


@pytest.mark.parametrize("pool", [-1, None, 1.0])
def test_limits(pool: object) -> None:
    with pytest.raises(ValueError, match="pool must be at least 0, not"):
        WriteOff(pool=pool)  # type: ignore[arg-type]
