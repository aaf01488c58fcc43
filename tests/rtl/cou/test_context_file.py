"""The context file: who sleeps is woken up by each event that is for it, and by nothing else."""

import random
from typing import Any

import pytest

from rtl.buffer.layouts import Arrival
from rtl.cou.context_file import ContextFile
from rtl.cou.context_signatures import look_layout
from rtl.cou.phase import Phase
from rtl.cou.shapes import CouShapes
from testbench.parts.contexts import Plan, Pulse, Trigger
from testbench.parts.faults import changed
from testbench.parts.simulation import fields, run
from testbench.unit_config import UNIT

CONFIG = UNIT.changed(cou={"n_jobs": 2, "n_contexts": 4})
LATEST = 3
"""Cycles from an event to the context that it wakes up."""


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


class Bench(Trigger):
    """The other parts, and a model of each context."""

    def __init__(self, rng: random.Random):
        part = ContextFile(
            shapes=CouShapes(CONFIG), n_contexts=CONFIG.cou.n_contexts, n_jobs=CONFIG.cou.n_jobs
        )
        super().__init__(part, CONFIG.buffer_slots, rng)
        self.changed_at = 0
        """Cycle in which the order of age changed."""

    def settle(self, read) -> None:
        """Compares the outputs with the state before this cycle's events, then takes these into account."""
        part, cycle, now = self.part, self.cycle, self.now
        assert read(part.free) == sum(1 << c for c in range(self.n) if c not in self.pulses)
        assert read(part.active) == sum(
            1 << job for job in range(self.n_jobs) if any(pulse.job == job for pulse in self.pulses.values()))
        assert read(part.doing.runs) == any(pulse.phase is Phase.RUNNING for pulse in self.pulses.values())
        self._wakes_before()
        ready = read(part.selection.ready)
        for context in range(self.n):
            self._ready(context, ready >> context & 1)
        assert read(part.selection.first) == sum(
            1 << c for c, pulse in self.pulses.items() if ready >> c & 1 and not any(
                ready >> other & 1 and older.job == pulse.job and older.started < pulse.started
                for other, older in self.pulses.items()))
        if self.acting is not None and self.acting.over_at is None and cycle > self.changed_at + 1:
            assert read(part.step.oldest) == self._is_oldest(self.acting.context)
            self.counts["oldest", read(part.step.oldest)] += 1
        ends = now["done"] is not None and self.pulses[now["done"]].ends
        assert read(part.step.finish) == ("drop" in now["act"] or ends)
        if now["done"] is not None:
            assert read(part.done.ends) == ends
        if self.chosen is not None and self.chosen.act_at == 0 and cycle >= self.chosen.look_at:
            self._look(fields(look_layout(self.shapes), read(part.look.registers.as_value())))
        self._after()
        self.cycle += 1

    def _is_oldest(self, context: int) -> bool:
        """True if no other pulse of the job that began before may still send something."""
        mine = self.pulses[context]
        return not any(pulse.job == mine.job and pulse.started < mine.started and pulse.parted_at is None
                       for pulse in self.pulses.values())

    def _wakes_before(self) -> None:
        """Events of this cycle that may wake a sleeper up in this cycle or a later one."""
        now, cycle = self.now, self.cycle
        key, _, what = now["arrival"] or (0, 0, Arrival.DROPPED)
        for pulse in self.pulses.values():
            if pulse.asked and key == pulse.key and what is not Arrival.DROPPED:
                pulse.may.append(cycle)
            if pulse.phase in (Phase.WAITING, Phase.BLOCKED) and pulse.job in self.expire:
                pulse.may.append(cycle)
                if pulse.answered:
                    pulse.due = pulse.due or cycle + LATEST
        if now["answer"]:
            pulse = self.pulses[now["answer"][0]]
            pulse.answered = True
            if now["answer"][1] is not None or any(event >= pulse.asked_at for event in pulse.may):
                pulse.may.append(cycle)
        for pulse in self.pulses.values():
            if pulse.phase is Phase.WAITING and pulse.answered and pulse.key in self.arrivals.table:
                pulse.due = pulse.due or cycle + LATEST

    def _ready(self, context: int, ready: int) -> None:
        """A context that is ready has a reason to be; one that has been for long is."""
        pulse, cycle = self.pulses.get(context), self.cycle
        if pulse is None or pulse.phase in (Phase.TAKEN, Phase.RUNNING, Phase.LOADING):
            assert not ready, "a context is ready that cannot be"
        elif pulse.phase is Phase.READY:
            assert ready
        elif ready:
            assert pulse.answered, "an answer is on its way still"
            assert any(cycle - LATEST <= event <= cycle for event in pulse.may), "a context wakes up for nothing"
            self.counts["woken", pulse.phase] += 1
            pulse.phase, pulse.due = Phase.READY, None
        else:
            assert pulse.due is None or cycle < pulse.due, "a context sleeps on"

    def _look(self, look: dict[str, int]) -> None:
        """Registers of the chosen context: they are known, but for a packet that may come in just now."""
        plan, cycle = self.chosen, self.cycle
        pulse = self.pulses[plan.context]
        plan.look, plan.expired = look, pulse.job in self.expire
        plan.act_at = cycle + self.rng.randint(2, 3)
        for name in ("job", "position", "loaded", "measured"):
            assert look[name] == getattr(pulse, name), name
        if not pulse.asked:
            assert not look["packet_there"]
            assert not look["sure"]
        if look["sure"]:
            assert look["packet_there"]
            assert self.arrivals.table.get(pulse.key) == look["packet"], "a packet that is not there"
            self.counts["sure"] += 1
        elif look["packet_there"]:
            slots = self.arrivals.coming(pulse.key) | {self.arrivals.table.get(pulse.key)}
            dropped = self.now["arrival"] and self.now["arrival"][0] == pulse.key
            assert dropped or look["packet"] in slots, "a packet that was not announced"
            self.counts["announced"] += 1

    def _after(self) -> None:
        """State after this cycle."""
        now, cycle, act, rng = self.now, self.cycle, self.now["act"], self.rng
        self._wakes_after(act)
        if self.acting is not None and self.acting.over_at is not None:
            # The cycle behind a pass has gone.
            self.acting = None
        if act:
            self._stepped(act)
        if now["loaded"] is not None:
            self.pulses[now["loaded"]].phase, self.pulses[now["loaded"]].loaded = Phase.READY, 1
        if now["measured"] is not None:
            self.pulses[now["measured"]].measured = self.chosen.look["measured"] = 1
        if now["done"] is not None:
            if self.pulses[now["done"]].ends:
                self._free(now["done"])
            else:
                self.pulses[now["done"]].phase = Phase.READY
        if now["moves"]:
            self.acting, self.chosen = self.chosen, None
            self.acting.act_at = cycle + 1 + rng.randint(0, 1)
        if now["take"] is not None:
            self.pulses[now["take"]].phase = Phase.TAKEN
            self.chosen = Plan(now["take"], cycle + rng.randint(1, 3))
        if now["start"]:
            start = now["start"]
            self.n_started += 1
            self.pulses[start["context"]] = pulse = Pulse(
                start["job"], self.n_started, Phase.TAKEN if start["taken"] else Phase.READY, int(not start["cut"]),
                steps_left=rng.randint(1, 3))
            self._describe(pulse)
            if start["taken"]:
                self.chosen = Plan(start["context"], cycle + rng.randint(1, 3))

    def _stepped(self, act: dict[str, Any]) -> None:
        """The step of this cycle is done."""
        plan, rng, cycle = self.acting, self.rng, self.cycle
        pulse = self.pulses[plan.context]
        plan.over_at = cycle
        if "drop" in act:
            self.counts["dropped"] += 1
            self._free(plan.context)
            return
        pulse.phase, pulse.due = act["sleep"], None
        # What came while the plan was made or stood is known to the context that goes to sleep.
        if any(event >= plan.look_at - LATEST for event in pulse.may):
            pulse.may.append(cycle)
        if "wait" in act:
            pulse.asked, pulse.answered, pulse.asked_at = True, False, cycle
            self._expect(pulse)
            self.arrivals.ask(cycle + 1, plan.context, act["wait"])
        if act["sleep"] is Phase.LOADING:
            self.loads.append((cycle + rng.randint(1, 9), plan.context))
            self.loads.sort()
        if "loads" in act:
            pulse.loaded = 1
        if "fire" not in act:
            return
        if plan.look["packet_there"]:
            assert self.arrivals.table.get(pulse.key) == plan.look["packet"], "a pass takes a packet that is not there"
            self.consumed.add(pulse.key)
            self.counts["consumed"] += 1
        pulse.asked, pulse.steps_left = False, pulse.steps_left - 1
        self._describe(pulse)
        pulse.ends, pulse.may = bool(act["ends"]), []
        if act["ends"]:
            pulse.parted_at = self.changed_at = cycle
            self._aged(pulse)
        if act["advance"]:
            pulse.position, pulse.loaded, pulse.measured = pulse.position + 1, 0, int(not act["cut"])
        elif act["clears"]:
            pulse.measured = 0
        self.passes.append((cycle + rng.choice((2, 5, 12, 25)), plan.context))
        self.passes.sort()

    def _describe(self, pulse: Pulse) -> None:
        """Draws if the next pass takes a packet: that has a key of its own, and may come before it is asked for."""
        pulse.needs = self.rng.random() < 0.7 and pulse.steps_left > 0
        self.n_keys += 1
        pulse.key, pulse.expected = self.n_keys, False
        if pulse.needs and self.rng.random() < 0.3:
            self._expect(pulse)

    def _expect(self, pulse: Pulse) -> None:
        """The packet is to come, before it is asked for or after that."""
        if not pulse.expected:
            pulse.expected = True
            self.arrivals.expect(pulse.key)

    def _wakes_after(self, act: dict[str, Any]) -> None:
        """Credits: of the blocked contexts of each job that want one of the peer the oldest is woken up."""
        peers = {self.now["returned"]} - {None}
        if self.acting is not None and "granted" in act:
            peers |= {self.pulses[self.acting.context].peer}
        both = self.now["returned"] is not None and "granted" in act
        for job in range(self.n_jobs):
            blocked = sorted((pulse.started, c) for c, pulse in self.pulses.items()
                             if pulse.phase is Phase.BLOCKED and pulse.job == job and pulse.peer in peers)
            for _, context in blocked if both else blocked[:1]:
                self.pulses[context].may.append(self.cycle)
                self.pulses[context].due = self.pulses[context].due or self.cycle + 2
                self.counts["called"] += 1

    def _aged(self, gone: Pulse) -> None:
        """A context that becomes the oldest of its job has a claim to the last credit."""
        for context, pulse in self.pulses.items():
            if pulse.job == gone.job and pulse.started > gone.started:
                pulse.may.append(self.cycle)
                if pulse.phase is Phase.BLOCKED and self._is_oldest(context):
                    self.counts["claims"] += 1
                    pulse.due = pulse.due or self.cycle + LATEST

    def _free(self, context: int) -> None:
        pulse = self.pulses.pop(context)
        self.changed_at = self.cycle
        if pulse.needs:
            self.consumed.add(pulse.key)
        if pulse.parted_at is None:
            self._aged(pulse)


def observed(rng: random.Random) -> Bench:
    """A bench that has run."""
    bench = Bench(rng)
    run(bench.part, [bench], cycles=1200, rng=rng)
    return bench


def test_contexts(rng: random.Random) -> None:
    bench = observed(rng)
    assert bench.n_started > 30
    for kind in (("woken", Phase.WAITING), ("woken", Phase.BLOCKED), ("oldest", 0), ("oldest", 1), "sure", "announced",
                 "certain", "consumed", "dropped", "called"):
        assert bench.counts[kind] > 1, kind


FAULTS = {
    "an arrival beside the look-up": (
        "same_key.eq(self.i_arrival.valid & wanting[c]", "same_key.eq(self.i_arrival.valid & wanting[c] & ~asking[c]"),
    "a context that an answer may still reach": (
        "settled = ~asking[c] | answered", "settled = wanting[c] | ~asking[c] | answered"),
    "the packet of another slot": ("wanting[c] & there & (registers_c.packet == arrival.slot)", "wanting[c] & there"),
    "a pass that leaves its packet": (
        "[there.eq(0), registers_c.sure.eq(0)]\n            with", "[there.eq(0)]\n            with"),
    "the youngest first": ("~(older[c] & selection.ready).any()", "~(older[c] & ~selection.ready).any()"),
    "a claim that is not heard": ("(called[c] | claims | expired)", "(called[c] | expired)"),
    "a credit of another peer": ("returned.valid & (wants[c] == returned.payload.peer)", "returned.valid"),
    "a context that no longer counts": ("parts.eq(step.fire & step.ends)", "parts.eq(step.fire)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ContextFile", changed(ContextFile, *FAULTS[fault]))
    with pytest.raises(AssertionError):
        observed(random.Random(2))
