"""The plan stage: each context that is taken gets the plan of its state, whatever happens beside it."""

import random
from collections import Counter
from typing import Any

import pytest

from rtl.abi import DescriptorControl, PacketHeader
from rtl.cou.context_signatures import look_layout
from rtl.cou.pass_planner import plan_layout
from rtl.cou.plan_stage import PlanStage
from rtl.cou.shapes import CouShapes
from testbench.parts.faults import changed
from testbench.parts.inputs import pack_all
from testbench.parts.plans import Situation, differences, draw, plan_of, unpack
from testbench.parts.simulation import run
from testbench.unit_config import UNIT

CONFIG = UNIT.changed(cou={"n_jobs": 2, "n_contexts": 4, "n_blocks": 8, "intermediate_bytes": 512})


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


def measured(s: Situation) -> dict[str, Any]:
    """Slice of a descriptor. A pulse takes `bytes` of each full block and the rest of the block behind them, which lie
    one behind the other in the intermediate result; all blocks while they are being cleared."""
    blocks, progress = s.operation["blocks"], s.progress
    first, count = (0, 0) if progress["clear"] else (s.desc["slice_first"], s.desc["slice_count"])
    end = blocks["count"] if count == 0 else first + count
    rest = max(0, min(s.operation["pulse_bytes"], blocks["tail_bytes"] - progress["offset"]))
    sizes = [progress["bytes"] if block < blocks["n_full"] else rest if block == blocks["n_full"] else 0
             for block in range(end)]
    return {
        "position": sum(sizes[:first]), "size": sum(sizes[first:]),
        "start": first * blocks["bytes"] + progress["offset"],
        "pieces": {"count": sum(block < blocks["n_full"] for block in range(first, end)), "bytes": progress["bytes"],
                   "last_bytes": rest if first <= blocks["n_full"] < end else 0, "stride": blocks["bytes"]},
    }


class Bench:
    """The context file, the stores and the stage that acts; `contexts` has the state of those with a pulse. The message
    of the first job is whole, that of the other one is cut into blocks."""

    def __init__(self, rng: random.Random, *, calm: bool = False):
        self.rng, self.calm, self.shapes, self.n = rng, calm, CouShapes(CONFIG), CONFIG.cou.n_contexts
        self.part = PlanStage(shapes=self.shapes, n_contexts=self.n)
        self.node_id = rng.getrandbits(24)
        self.operations = [self._operation(cut) for cut in (0, int(not calm))]
        self.expired, self.status = [0, 0], [0, 0]
        self.contexts: dict[int, Situation] = {}
        self.known: dict[int, int] = {}
        """Of each context: its slice is that of its descriptor."""
        self.offered: int | None = None
        self.within: list[tuple[int, int]] = []
        """Contexts that have been taken and have no plan yet, and the cycle of each: two at most."""
        self.start: dict[str, int] | None = None
        self.control, self.header = 0, 0
        self.shown: int | None = None
        self.plan: dict[str, Any] = {}
        self.after_shown: int | None = None
        self.cycle = 0
        self.hold, self.held_since, self.pending, self.pending_before = 0, 0, 0, 0
        self.pending_two_before, self.status_before = 0, [0, 0]
        self.late: int | None = None
        self.latencies: list[int] = []
        self.shown_at: list[int] = []
        self.counts: Counter[str] = Counter()

    def _operation(self, cut: int) -> dict[str, Any]:
        operation = draw(self.rng, self.shapes).operation
        n_full = self.rng.randint(1, 6)
        operation["pulse_bytes"] = 16 * self.rng.randint(1, 3)
        operation["blocks"] |= {"cut": cut, "count": n_full + 1, "n_full": n_full,
                                "bytes": 16 * self.rng.randint(6, 40), "tail_bytes": 4 * self.rng.randint(0, 60)}
        return operation

    def _describe(self, s: Situation) -> None:
        """Another descriptor for a context."""
        consumed = s.progress["consumed"]
        first = self.rng.randrange(s.operation["blocks"]["count"])
        count = self.rng.randint(0, s.operation["blocks"]["count"] - first)
        s.desc = draw(self.rng, self.shapes).desc | {
            "cp_count": consumed + self.rng.choice((0, 1, 2)), "slice_first": first if count else 0,
            "slice_count": count, "block_count": s.operation["blocks"]["count"],
        }

    def drive(self, context) -> None:
        """All inputs. What follows from the part in the same cycle is set after that."""
        part, put, rng = self.part, context.set, self.rng
        if not self.calm:
            if rng.random() < (0.1 if self.hold else 0.02):
                self.hold ^= 1
            self.pending_before, self.pending = self.pending, int(rng.random() < (0.6 if self.pending else 0.04))
        put(part.node_id, self.node_id)
        put(part.standstill.hold, self.hold)
        put(part.operation.fault_pending, self.pending)
        # An error has reached the table a cycle after it was on its way.
        if self.pending_before and not self.pending:
            self.status[rng.randrange(2)] = rng.choice((0, 6, 9, 13))
        if not self.within and self.offered is None and not self.calm and rng.random() < 0.05:
            self.expired[rng.randrange(2)] ^= 1
        self._offer(put)
        put(part.sequence.control.as_value(), self.control)
        put(part.header.header.as_value(), self.header)
        self.ready = int(self.calm or rng.random() < 0.4)
        put(part.o.ready, self.ready)
        valid = int(context.get(part.o.valid))
        self.fires = valid and self.ready and (self.calm or rng.random() < 0.7)
        put(part.fire, bool(self.fires))
        job = int(context.get(part.operation.job))
        put(part.operation.operation.as_value(), pack_all(self.shapes.operation, self.operations[job]))
        put(part.operation.expired, self.expired[job])
        put(part.operation.status, self.status[job])

    def _offer(self, put) -> None:
        """A context that is ready, with its registers; a pulse that begins in a free one."""
        rng, part = self.rng, self.part
        shown = self.plan["context"] if self.shown is not None else None
        waiting = [c for c in self.contexts if c not in (*(context for context, _ in self.within), shown, self.late)]
        if self.offered is None and waiting and (self.calm or rng.random() < 0.6):
            self.offered = rng.choice(waiting)
            s = self.contexts[self.offered]
            left = s.progress["consumed"] != s.desc["cp_count"]
            there = int(left and rng.random() < 0.7)
            s.look = unpack(look_layout(self.shapes), rng.getrandbits(20)) | {
                "job": s.look["job"], "packet_there": there, "sure": int(there and rng.random() < 0.7),
                "measured": self.known[self.offered],
            }
            s.packet = draw(rng, self.shapes).packet | {"length": rng.choice((s.slice["size"], 16))}
        put(part.i.valid, self.offered is not None)
        put(part.i.payload, self.offered if self.offered is not None else rng.randrange(self.n))
        look = self.contexts[self.offered].look if self.offered is not None else unpack(
            look_layout(self.shapes), rng.getrandbits(20))
        put(part.look.registers.as_value(), pack_all(look_layout(self.shapes), look))
        free = [c for c in range(self.n) if c not in self.contexts]
        if self.start is None and free and rng.random() < 0.2:
            job = rng.randrange(2)
            operation = self.operations[job]
            self.start = {"context": rng.choice(free), "job": job, "pulse": rng.getrandbits(16),
                          "offset": 16 * rng.randint(0, 12), "bytes": rng.randint(1, operation["pulse_bytes"]),
                          "cut": operation["blocks"]["cut"], "clear": int(not self.calm and rng.random() < 0.4)}
        put(part.i_start.valid, self.start is not None)
        if self.start is not None:
            values = {name: value for name, value in self.start.items() if name != "context"}
            put(part.i_start.payload.as_value(), pack_all(self.shapes.start, values))
            put(part.start_context, self.start["context"])

    def settle(self, read) -> None:
        """Compares a plan with its context, and takes what happens into account."""
        part = self.part
        self._shows(read)
        # What was asked for stays until something else is; a memory that is not asked may show anything then.
        if read(part.sequence.fetch):
            s = self.contexts[self.offered]
            place = unpack(part.sequence.address.shape(), read(part.sequence.address.as_value()))
            assert place == {"position": s.look["position"], "job": s.look["job"]}
            self.control = pack_all(DescriptorControl, s.desc)
        if read(part.header.enable):
            s = self.contexts[self.offered]
            assert s.look["packet_there"]
            assert read(part.header.slot) == s.look["packet"]
            self.header = pack_all(PacketHeader, s.packet)
        if read(part.o_measured.valid):
            context = read(part.o_measured.payload.context)
            assert [context] == [context for context, _ in self.within]
            assert not self.known[context], "a slice is measured twice"
            s = self.contexts[context]
            s.slice, self.known[context] = measured(s), 1
            self.counts["measured"] += 1
        takes = self.offered is not None and read(part.i.ready)
        assert read(part.sequence.fetch) == takes
        if takes:
            assert not self.hold, "a context is taken at a standstill"
            if not self.contexts[self.offered].look["packet_there"]:
                # Nothing that counts follows from it, but the last header stands there still.
                self.contexts[self.offered].packet = unpack(PacketHeader, self.header)
            self.within.append((self.offered, self.cycle))
            self.counts["known"] += self.known[self.offered]
            self.offered = None
        self._held(read)
        self._begins(read)
        self.cycle += 1

    def _shows(self, read) -> None:
        """The plan on offer: it is right when it comes, and stays a cycle longer than it is on offer."""
        part, self.late = self.part, None
        bits = read(part.o.payload.as_value())
        if self.after_shown is not None:
            assert bits == self.after_shown, "a plan is gone before its progress is written"
            self.after_shown = None
        if read(part.o.valid) and self.shown is None:
            assert self.within, "a plan that nobody asked for"
            assert not self.pending_two_before, "a plan that does not know of an error"
            context, taken_at = self.within.pop(0)
            s = self.contexts[context]
            s.expired, s.status = self.expired[s.look["job"]], self.status_before[s.look["job"]]
            s.look["measured"] = 1
            assert self.known[context] or s.expired, "a plan without its slice"
            self.plan = plan_of(s)
            assert not differences(unpack(plan_layout(self.shapes), bits), self.plan)
            self.counts["plans"] += 1
            self.shown_at.append(self.cycle)
            self.latencies.append(self.cycle - taken_at)
            self.shown = bits
        if self.shown is not None:
            assert read(part.o.valid), "a plan was taken back"
            assert bits == self.shown, "a plan has changed"
            if self.ready:
                self.shown, self.after_shown, self.late = None, bits, self.plan["context"]
                self._acted()
        self.pending_two_before, self.status_before = self.pending_before, list(self.status)

    def _acted(self) -> None:
        """The plan has been taken: if its pass goes, the context goes on."""
        s = self.contexts[self.plan["context"]]
        if not self.fires:
            return
        self.counts["fired"] += 1
        s.progress = {name: int(value) for name, value in self.plan["after"].items()}
        cut = s.operation["blocks"]["cut"]
        if self.plan["final"]:
            if self.rng.random() < 0.3 and not self.calm:
                del self.contexts[self.plan["context"]]
                return
            self._describe(s)
            self.known[self.plan["context"]] = int(not cut)
        elif self.plan["clears"] and cut:
            self.known[self.plan["context"]] = 0

    def _held(self, read) -> None:
        """A standstill: it comes about, and nothing is under way then."""
        held = read(self.part.standstill.held)
        busy = bool(self.within) or self.shown is not None
        if held:
            assert self.hold
            assert not busy
            self.counts["held"] += 1
        self.held_since = self.held_since + 1 if self.hold and not busy else 0
        assert held or self.held_since < 3, "a standstill that does not come about"

    def _begins(self, read) -> None:
        """A pulse that begins."""
        start = self.start
        if start is None or not read(self.part.i_start.ready):
            return
        operation = self.operations[start["job"]]
        s = draw(self.rng, self.shapes)
        s.context, s.node_id, s.operation, s.expired = start["context"], self.node_id, operation, 0
        s.look = {"job": start["job"]}
        s.progress = {"pulse": start["pulse"], "offset": start["offset"], "bytes": start["bytes"],
                      "clear": start["clear"], "consumed": 0, "has_data": 0, "in_operand": 0, "middle": 0}
        s.slice = {"position": 0, "size": start["bytes"], "start": start["offset"],
                   "pieces": {"count": 1, "bytes": start["bytes"], "last_bytes": 0, "stride": 0}}
        self._describe(s)
        self.contexts[start["context"]], self.known[start["context"]] = s, int(not start["cut"])
        self.start = None
        self.counts["started"] += 1


def test_plans(rng: random.Random) -> None:
    bench = Bench(rng)
    run(bench.part, [bench], cycles=1000, rng=rng)
    assert bench.counts["plans"] > 50
    assert bench.counts["plans"] > bench.counts["known"] > 10
    assert min(bench.counts[kind] for kind in ("fired", "measured", "held", "started")) > 1
    assert min(bench.latencies) == 3


def test_plans_follow_each_other(rng: random.Random) -> None:
    """A plan three cycles after its context was taken, and one in two cycles."""
    bench = Bench(rng, calm=True)
    run(bench.part, [bench], cycles=150, rng=rng)
    # Once all contexts have a pulse.
    later = [cycle for cycle in bench.shown_at if cycle > 100]
    assert later == list(range(later[0], later[-1] + 1, 2))
    assert set(bench.latencies[-10:]) == {3}


FAULTS = {
    "the slice of the context behind": ("Mux(again, context, self.i.payload)", "self.i.payload"),
    "a progress that is forgotten": ("far_write.en.eq(progresses | begin)", "far_write.en.eq(begin)"),
    "a plan that changes while it stands": ("output_free.eq(~self.o.valid & ~pending)", "output_free.eq(~pending)"),
    "an error on its way": ("output_free.eq(~self.o.valid & ~pending)", "output_free.eq(~self.o.valid)"),
    "a slice that is read before it was written": ("slice_read.en.eq(fetch | again)", "slice_read.en.eq(fetch)"),
    "a context at a standstill": ("self.i.ready.eq(output_free & ~standstill.hold)", "self.i.ready.eq(output_free)"),
    "a pulse that begins in the wrong cycle": ("~self.o.valid & ~progresses &", "~self.o.valid &"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PlanStage", changed(PlanStage, *FAULTS[fault]))
    with pytest.raises(AssertionError):
        test_plans(random.Random(1))
