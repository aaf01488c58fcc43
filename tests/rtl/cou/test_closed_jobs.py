"""Closed jobs: none is taken for another, and each reason to look comes up in time, and none without a cause."""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from rtl.buffer.layouts import Arrival, arrival_layout
from rtl.cou.closed_jobs import ClosedJobs
from rtl.cou.shapes import CouShapes
from rtl.interface import JobClosing
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs, pack
from testbench.parts.simulation import run
from testbench.unit_config import UNIT

N_JOBS, SWEEP, LATEST = 4, 256, 3
"""Operations, cycles after a reset, and cycles from a cause to its reason."""
JOB_IDS = (0, 1, 0x7F, 0x80, 0xFE, 0xFF)


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


class Reason:
    """A reason, beside its causes: it is up a few cycles after one that must bring it, until it is taken, and only
    after one that may."""

    def __init__(self) -> None:
        self.must, self.may = [], []
        self.up = False
        self.n_rises = 0

    def cause(self, cycle: int, *, certain: bool = True) -> None:
        """Notes a cause."""
        self.may.append(cycle)
        if certain:
            self.must.append(cycle)

    def check(self, cycle: int, value: int, takes: int) -> None:
        """Compares this cycle's value, before its causes are noted."""
        if self.up:
            assert value, "a reason that was not taken is gone"
        elif value:
            assert any(cycle - LATEST <= cause < cycle for cause in self.may), "a reason without a cause"
            self.n_rises += 1
        if value:
            self.must = [cause for cause in self.must if cause >= cycle]
        assert not any(cause <= cycle - LATEST for cause in self.must), "a cause without its reason"
        self.up = bool(value and not takes)
        self.may = [cause for cause in self.may if cause > cycle - LATEST]


class Bench:
    """Orders, operations and packets at random; what is expected of each cycle follows from those before."""

    def __init__(self, part: ClosedJobs, rng: random.Random):
        self.part, self.rng = part, rng
        self.shapes = part.shapes
        self.cycle = 0
        self.closed: set[int] = set()
        self.holds = [{"live": 0, "job_id": 0, "waits": 0} for _ in range(N_JOBS)]
        self.before = [dict(hold) for hold in self.holds]
        self.operations, self.packets = Reason(), Reason()
        self.passed: int | None = None
        self.asked: tuple[int, bool, bool] | None = None
        self.open_arrival: tuple[int, set[int], bool] | None = None
        self.counts: Counter[str] = Counter()
        self.now: dict[str, int] = {}
        self.order: tuple[int, int] | None = None
        self.arrival: tuple[int, int] | None = None

    def drive(self, put: Callable) -> None:
        """One cycle: calm times, in which each cause is alone, and busy ones."""
        rng, busy = self.rng, self.cycle // 150 % 2
        often = 0.25 if busy else 0.04
        swept = self.cycle > SWEEP
        self.order = self.arrival = None
        if swept and rng.random() < (often if self.closed else often / 4):
            # Jobs are opened more often than closed: at times all are open.
            job_id = rng.choice(sorted(self.closed) if self.closed and rng.random() < 0.5 else JOB_IDS)
            self.order = job_id, int(job_id not in self.closed)
        if rng.random() < often * 2:
            job_id = self.order[0] if self.order and rng.random() < 0.5 else rng.choice(JOB_IDS)
            self.arrival = job_id, rng.choice((Arrival.THERE, *Arrival)).value
        self.before = [dict(hold) for hold in self.holds]
        for hold in self.holds:
            if rng.random() < often / 2:
                if hold["live"]:
                    hold.update(live=0, waits=0)
                else:
                    hold.update(live=1, job_id=rng.choice(JOB_IDS))
            elif hold["live"] and rng.random() < often / 3:
                hold["waits"] ^= 1
        reasons = self.part.reasons
        self.now = {
            "takes_operations": rng.random() < often, "takes_packets": rng.random() < often,
            "passes_over": rng.random() < often / 4, "job_id": rng.choice(JOB_IDS),
        }
        for name, value in self.now.items():
            put(getattr(reasons, name), value)
        put(self.part.order.valid, self.order is not None)
        job_id, closed = self.order or (rng.getrandbits(8), rng.getrandbits(1))
        put(self.part.order.payload.as_value(), pack(JobClosing, {"job_id": job_id, "closed": closed}))
        put(self.part.i_arrival.valid, self.arrival is not None)
        job_id, what = self.arrival or (rng.getrandbits(8), rng.randrange(3))
        shape = arrival_layout(self.shapes.packet)
        key = pack(shape["key"].shape, {"job_id": job_id, "seq_id": rng.getrandbits(5), "pulse": rng.getrandbits(16)})
        put(self.part.i_arrival.payload.as_value(), pack(shape, {"key": key, "slot": rng.getrandbits(3), "what": what}))
        for port, hold in zip(self.part.holds, self.holds, strict=True):
            put(port.as_value(), pack(self.shapes.holds, {**hold, "next_pulse": rng.getrandbits(16)}))

    def settle(self, read: Callable) -> None:
        """Checks this cycle, and notes what it causes."""
        reasons, now, cycle = self.part.reasons, self.now, self.cycle
        assert read(self.part.i_arrival.ready)
        if self.order:
            assert read(self.part.order.ready)
        self.operations.check(cycle, read(reasons.operations), now["takes_operations"])
        self.packets.check(cycle, read(reasons.packets), now["takes_packets"])
        if self.asked is not None:
            job_id, closed, certain = self.asked
            assert not certain or read(reasons.is_closed) == closed, job_id
            self.counts["closed"] += closed
        ordered = {self.order[0]} if self.order else set()
        # A look-up in the cycle in which its own job changes may see it before or after.
        self.asked = now["job_id"], now["job_id"] in self.closed, now["job_id"] not in ordered and cycle > SWEEP
        self._causes()
        for job_id, closed in [self.order] if self.order else []:
            (self.closed.add if closed else self.closed.discard)(job_id)
        self.cycle += 1

    def _causes(self) -> None:
        cycle, now, order = self.cycle, self.now, self.order
        changed = list(zip(self.before, self.holds, strict=True))
        begun = any(hold["live"] and not was["live"] for was, hold in changed)
        over = any(was["live"] and not hold["live"] for was, hold in changed)
        if order and order[1]:
            self._note("closes", self.operations, self.packets)
        if begun and self.closed:
            self._note("begun", self.operations)
        if over and self.passed is not None:
            self._note("over", self.packets)
        if now["takes_packets"]:
            self.passed = None
        if now["passes_over"]:
            self.passed = cycle
        if any(hold["waits"] and not was["waits"] for was, hold in changed):
            self._note("waits", self.packets)
        # Operations that begin or cease to wait beside the packet may be counted or not.
        waiting = {hold["job_id"] for hold in self.holds if hold["waits"]}
        if self.open_arrival is not None:
            job_id, waited, was_closed = self.open_arrival
            self.packets.cause(cycle - 1, certain=was_closed or (job_id in waited and job_id in waiting))
            self.counts["arrival at a closed job"] += was_closed
            self.counts["arrival that was waited for"] += job_id in waited and job_id in waiting and not was_closed
        self.open_arrival = None
        if self.arrival and self.arrival[1] == Arrival.THERE.value:
            job_id = self.arrival[0]
            # An order in the cycle of the arrival counts. One that closes is a reason itself: the look that it leads to
            # finds the packet, so the arrival may be one or not.
            changes = order is not None and order[0] == job_id
            closes = changes and bool(order[1])
            was_closed = job_id in self.closed and not changes
            self.counts["arrival beside an order"] += changes
            near = waiting | {was["job_id"] for was in self.before if was["waits"]}
            if was_closed or closes or job_id in near or self._soon(job_id):
                self.open_arrival = job_id, waiting, was_closed

    def _soon(self, job_id: int) -> bool:
        """True if an operation of the job may begin to wait in the next cycle."""
        return any(hold["live"] and hold["job_id"] == job_id for hold in self.holds)

    def _note(self, name: str, *reasons: Reason) -> None:
        self.counts[name] += 1
        for reason in reasons:
            reason.cause(self.cycle)


def test_reasons(rng: random.Random) -> None:
    part = ClosedJobs(shapes=CouShapes(UNIT.changed(cou={"n_jobs": N_JOBS})), n_jobs=N_JOBS)
    bench = Bench(part, rng)
    run(part, [Inputs(bench.drive, bench.settle)], cycles=1200, rng=rng)
    assert bench.counts["closed"] > 50
    for name in ("closes", "begun", "over", "waits", "arrival at a closed job", "arrival that was waited for",
                 "arrival beside an order"):
        assert bench.counts[name] > 3, name
    assert min(bench.operations.n_rises, bench.packets.n_rises) > 15


FAULTS = {
    "closed jobs are counted up only": ("count + 1, count - 1", "count + 1, count"),
    "a reason that comes up with a look is lost": (
        "(reasons.packets & ~reasons.takes_packets) | closes | over | (waits & ~waited).any() | concerned",
        "~reasons.takes_packets & (reasons.packets | closes | over | (waits & ~waited).any() | concerned)"),
    "the packet of an open job": ("concerned.eq(arrived & (of_arrival.data | waited_for))", "concerned.eq(arrived)"),
    "an end beside which nothing was left": (
        "(live_before & ~live).any() & passed_over", "(live_before & ~live).any()"),
    "the waiting operation of another": (
        "waits[j] & (self.holds[j].job_id == arrived_job)", "waits[j] & (self.holds[0].job_id == arrived_job)"),
    "an arrival beside an order": ("closed.read_port(transparent_for=[write])", "closed.read_port()"),
    "an order opens": ("write.data.eq(order.payload.closed)", "write.data.eq(1)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong = FAULTS[fault]
    monkeypatch.setitem(globals(), "ClosedJobs", changed(ClosedJobs, right, wrong))
    with pytest.raises(AssertionError):
        test_reasons(random.Random(1))
