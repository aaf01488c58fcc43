"""Parts of a NIC that tell others: orders about jobs, credits that leave, figures of a unit."""

import random
from collections import Counter

import pytest
from amaranth import Array

from firmware_models.abi.encoding import PacketType, UnitState
from rtl.credit.credit_receiver import CreditReceiver
from rtl.credit.credit_watcher import CreditWatcher
from rtl.credit.layouts import SHARED_BIT
from rtl.credit.shared_pool import NoPool
from rtl.interface import CreditGiven, JobClosing, JobStanding, JobWriteOff
from rtl.nic.job_orders import JobOrders
from rtl.nic.unit_figures import UnitFigures
from testbench.parts.simulation import Offers, Takes, fields, run

UNITS = 3


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


def test_job_orders(rng: random.Random) -> None:
    """Orders and answers go through; a change is said to all units, a write-off to its own, and nothing passes it."""
    part = JobOrders(n_units=UNITS)

    def answer() -> int:
        shown = JobStanding.const({"unit": rng.randrange(UNITS), "written_off": rng.random() < 0.2,
                                   "changed": rng.getrandbits(1), "closed": rng.getrandbits(1),
                                   "job_id": rng.getrandbits(8), "lost": rng.getrandbits(6)})
        return int(shown.as_bits())

    orders, answers = Offers(part.i, rng), Offers(part.i_standing, rng, answer)
    to_table, to_registers = Takes(part.order, rng), Takes(part.o_standing, rng)
    write_offs = [Takes(unit.write_off, rng) for unit in part.units]
    changes: list[tuple[int, int]] = []
    said: list[list[tuple[int, int]]] = [[] for _ in range(UNITS)]
    owed: list[list[int]] = [[] for _ in range(UNITS)]
    open_write_off = 0

    def step(read) -> None:
        nonlocal open_write_off
        assert not (open_write_off and read(part.order.valid)), "an order beside a write-off"
        for number, unit in enumerate(part.units):
            assert read(unit.unused_known) == read(part.unused_known[number])
            if read(unit.closing.valid):
                closing = fields(JobClosing, read(unit.closing.payload.as_value()))
                said[number].append((closing["job_id"], closing["closed"]))
            open_write_off -= read(unit.write_off.valid) & read(unit.write_off.ready)
        if answers.offered is not None and read(part.i_standing.ready):
            stands = fields(JobStanding, answers.offered)
            if stands["changed"]:
                changes.append((stands["job_id"], stands["closed"]))
            if stands["written_off"]:
                written = JobWriteOff.const({"job_id": stands["job_id"], "lost": stands["lost"]})
                owed[stands["unit"]].append(int(written.as_bits()))
                open_write_off += 1

    # There is one order at a time, and its answer follows it.
    orders.may = lambda: len(answers.taken) == len(orders.taken)
    answers.may = lambda: len(answers.taken) < len(to_table.taken)
    run(part, [orders, answers, to_table, to_registers, *write_offs], step=step, cycles=4000,
        levels=tuple(part.unused_known), rng=rng)
    assert len(changes) > 50
    assert all(found == changes[:len(found)] and len(found) >= len(changes) - 1 for found in said)
    assert [write_off.taken for write_off in write_offs] == [
        one[:len(write_off.taken)] for one, write_off in zip(owed, write_offs, strict=True)]
    assert sum(map(len, owed)) - sum(len(write_off.taken) for write_off in write_offs) in (0, 1)
    assert to_table.taken == orders.taken[:len(to_table.taken)]
    assert to_registers.taken == answers.taken


def test_credits_that_leave(rng: random.Random) -> None:
    """Each CREDIT packet that gives one is counted once, however long it is on offer."""
    part = CreditWatcher()
    expected: Counter[int] = Counter()
    found: Counter[int] = Counter()
    state = {"left": 0, "gap": 1}

    class Headers:
        def drive(self, context) -> None:
            if state["left"] == 0 and state["gap"] == 0 and rng.random() < 0.5:
                state["left"] = rng.randint(1, 4)
                kind = rng.choice((PacketType.CREDIT, PacketType.CREDIT, PacketType.ACK, PacketType.GET_DATA))
                given = {"job_id": rng.getrandbits(8), "shared": rng.getrandbits(1), "granted": rng.getrandbits(1)}
                count = rng.randrange(3)
                context.set(part.header, {"type": kind, "credits": count, "job_id": given["job_id"],
                                          "tag": given["shared"] << SHARED_BIT, "loan": given["granted"]})
                if kind is PacketType.CREDIT and count:
                    expected[int(CreditGiven.const(given).as_bits())] += 1
            context.set(part.valid, state["left"] > 0)

        def settle(self, read) -> None:
            state["gap"] = int(state["left"] == 1)
            state["left"] = max(0, state["left"] - 1)
            if read(part.given_valid):
                found[read(part.given.as_value())] += 1

    run(part, [Headers()], rng=rng)
    missing = expected - found
    assert sum(expected.values()) > 100
    assert not found - expected
    assert missing.total() <= 1


@pytest.mark.parametrize("lending", [True, False])
def test_credits_that_come(rng: random.Random, lending: bool) -> None:
    """Those that return unused go to the reporter, where there is a pool; all others to the table."""
    part = CreditReceiver(data_width=64, shares=lending)
    header = Offers(part.i.header, rng)
    back, unused = Takes(part.o, rng), Takes(part.o_unused, rng)
    counts: Counter[bool] = Counter()

    def step(read) -> None:
        shown = part.i.header.payload
        is_unused = bool(lending and read(shown.loan) and not read(shown.credits))
        valid = header.offered is not None
        assert (read(part.o.valid), read(part.o_unused.valid)) == (valid and not is_unused, valid and is_unused)
        assert read(part.i.header.ready) == read((part.o_unused if is_unused else part.o).ready)
        assert read(part.i.payload.ready) == 1
        assert read(part.o_unused.payload.job_id) == read(part.o.payload.job_id) == read(shown.job_id)
        assert read(part.o.payload.window_slot) == read(shown.tag) % (1 << len(part.o.payload.window_slot))
        counts[is_unused] += valid

    def draw() -> int:
        return rng.getrandbits(len(part.i.header.payload.as_value())) & (
            ~_mask(part.i.header.payload, "credits") if rng.random() < 0.5 else -1)

    header.item = draw
    run(part, [header, back, unused], step=step, rng=rng)
    assert counts[False] > 100
    assert (counts[True] > 100) is lending


def _mask(view, name: str) -> int:
    field = view.shape()[name]
    return (1 << field.width) - 1 << field.offset


def test_no_pool(rng: random.Random) -> None:
    part = NoPool()
    consumption = part.consumption

    def step(read) -> None:
        assert (read(consumption.n_left), read(consumption.granted), read(part.free)) == (1, 0, 0)

    run(part, [], step=step, levels=(consumption.taken, consumption.consumed.as_value()), cycles=50, rng=rng)


def test_unit_figures(rng: random.Random) -> None:
    """Statistics of the unit that is selected, a cycle late; its cycles in each state; a fault is its own."""
    part = UnitFigures(n_cous=2, level_bits=8)
    cycles = [Counter({UnitState.NOTHING.value: 0}), Counter()]
    last: list[int | None] = [None]

    class Inputs:
        def drive(self, context) -> None:
            for state in part.states:
                context.set(state, rng.randrange(len(UnitState)))
            context.set(part.view.select, rng.randrange(2))
            context.set(part.view.state_index, rng.randrange(len(UnitState)))
            for one in part.statistics:
                context.set(one.as_value(), rng.getrandbits(200))
            context.set(part.view.fault.as_value(), rng.getrandbits(9))
            context.set(part.view.arm, rng.randrange(2))

        def settle(self, read) -> None:
            selected = read(part.view.select)
            if last[0] is not None:
                assert read(part.view.statistics.as_value()) == last[0]
            last[0] = read(part.statistics[selected].as_value())
            assert read(part.fault.as_value()) == read(part.view.fault.as_value())
            assert [read(arm) for arm in part.arm] == [read(part.view.arm) & (selected == k) for k in range(2)]
            # The last cycle or two may not have been counted.
            assert abs(read(part.view.state_cycles) - cycles[selected][read(part.view.state_index)]) <= 1
            for counted, state in zip(cycles, seen, strict=True):
                counted[state] += 1
            seen[:] = [read(state) for state in part.states]

    seen = [UnitState.NOTHING.value] * 2
    run(part, [Inputs()], rng=rng)


def test_planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures of one unit for those of another are found."""
    monkeypatch.setattr("rtl.nic.unit_figures.Array", lambda items: Array([*items][::-1]))
    with pytest.raises(AssertionError):
        test_unit_figures(random.Random(1))
