"""The trigger around a context file: contexts on their way through it, and the events that wake them up."""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rtl.abi import HashKey
from rtl.buffer.layouts import Arrival, arrival_layout
from rtl.cou.context_file import ContextFile
from rtl.cou.context_signatures import context_answer_layout, context_start_layout
from rtl.cou.phase import Phase
from testbench.parts.arrivals import Arrivals
from testbench.parts.inputs import pack


@dataclass
class Pulse:
    """A pulse in a context, and what is known of it."""

    job: int
    started: int
    phase: Phase
    measured: int
    steps_left: int
    position: int = 0
    loaded: int = 0
    needs: bool = False
    """Its next pass takes a packet."""
    key: int = 0
    """Of that packet."""
    asked: bool = False
    answered: bool = True
    asked_at: int = 0
    expected: bool = False
    peer: int = 0
    may: list[int] = field(default_factory=list)
    """Cycles with an event that may wake it up."""
    due: int | None = None
    """Cycle in which it must be ready."""
    ends: bool = False
    parted_at: int | None = None


@dataclass
class Plan:
    """A selected context on its way through the trigger, with its registers as they were looked up."""

    context: int
    look_at: int
    look: dict[str, int] = field(default_factory=dict)
    act_at: int = 0
    expired: bool = False
    waited: int = 0
    credit_at: int | None = None
    has_reason: bool = False
    over_at: int | None = None


class Trigger:
    """The parts around a context file: they take each context that is ready through the trigger, and wake it up.

    Parameters
    ----------
    part : ContextFile
        The context file.
    n_slots : int
        Slots of the packet buffer.
    rng : Random
        For all that they do.
    """

    def __init__(self, part: ContextFile, n_slots: int, rng: random.Random):
        self.rng, self.part, self.shapes = rng, part, part.shapes
        self.n, self.n_jobs = part.n_contexts, part.n_jobs
        self.arrivals = Arrivals(rng, n_slots)
        self.pulses: dict[int, Pulse] = {}
        self.cycle = self.n_started = self.n_keys = 0
        self.chosen: Plan | None = None
        self.acting: Plan | None = None
        self.expire: set[int] = set()
        self.passes: list[tuple[int, int]] = []
        """Cycle of the end of a pass, and its context."""
        self.loads: list[tuple[int, int]] = []
        self.consumed: set[int] = set()
        self.now: dict[str, Any] = {}
        """Events of this cycle."""
        self.counts: Counter[object] = Counter()

    def drive(self, context) -> None:
        """A cycle: events, then the step of the plan that stands, then the choice of the next context."""
        def get(signal) -> int:
            return int(context.get(signal))

        self.now = {}
        self._events(context.set)
        self._end(context.set)
        self._act(context.set, get)
        self._choose(context.set, get(self.part.selection.ready))

    def _events(self, put) -> None:
        rng, part, now, cycle = self.rng, self.part, self.now, self.cycle
        self.consumed = {key for key in self.consumed if not self.arrivals.consume(key)}
        now["arrival"] = arrival = self.arrivals.event(cycle)
        now["answer"] = answer = self.arrivals.answer(cycle)
        key, slot, what = arrival or (rng.randint(1, self.n_keys + 1), 0, rng.choice(list(Arrival)))
        put(part.i_arrival.valid, arrival is not None)
        put(part.i_arrival.payload.as_value(), pack(arrival_layout(self.shapes.packet), {
            "key": self.key_bits(key), "slot": slot, "what": what.value}))
        who, slot = answer or (rng.randrange(self.n), None)
        put(part.i_answer.valid, answer is not None)
        put(part.i_answer.payload.as_value(), pack(context_answer_layout(self.shapes), {
            "context": who, "hit": slot is not None, "packet": slot or 0}))
        now["loaded"] = self.loads.pop(0)[1] if self.loads and self.loads[0][0] <= cycle else None
        put(part.i_loaded.valid, now["loaded"] is not None)
        put(part.i_loaded.payload.context, now["loaded"] if now["loaded"] is not None else rng.randrange(self.n))
        now["returned"] = rng.randrange(2) if rng.random() < 0.02 else None
        put(part.i_returned.valid, now["returned"] is not None)
        put(part.i_returned.payload.peer, now["returned"] or 0)
        active = {pulse.job for pulse in self.pulses.values()}
        self.expire &= active
        if active and rng.random() < 0.01:
            self.expire.add(rng.choice(sorted(active)))
        put(part.expire, sum(1 << job for job in self.expire))

    def key_bits(self, number: int) -> int:
        """A key: those of packets that are awaited at once differ in few bits."""
        return pack(HashKey, {"job_id": 1, "node_id": 5, "vp": 3, "seq_id": number % 32, "pulse": number // 32})

    def _act(self, put, get) -> None:
        """The step of the context whose plan stands, if its time has come."""
        part, plan, rng = self.part, self.acting, self.rng
        act: dict[str, Any] = {}
        if plan is not None and plan.over_at is None:
            put(part.step.context, plan.context)
            if self.cycle >= plan.act_at:
                act = self._decide(plan, self.pulses[plan.context], get(part.step.certain))
        for name in ("sleep", "wait", "loads", "fire", "drop"):
            put(getattr(part.step, name), name in act)
        put(part.step.next_phase, act.get("sleep", rng.choice(list(Phase))))
        # These stay in the cycle behind.
        for name in ("advance", "ends", "cut", "clears"):
            if "fire" in act:
                put(getattr(part.step, name), act[name])
        put(part.step.key.as_value(), self.key_bits(act.get("wait", rng.randint(1, self.n_keys + 1))))
        put(part.want.asks, plan is not None and plan.credit_at is not None and plan.over_at is None)
        put(part.want.granted, "granted" in act)
        put(part.want.peer, self.pulses[plan.context].peer if plan and plan.context in self.pulses else 0)
        self.now["act"] = act

    def _decide(self, plan: Plan, pulse: Pulse, certain: int) -> dict[str, Any]:
        """One step after the other, in the trigger's order."""
        rng, look = self.rng, plan.look
        there = look["packet_there"] and (look["sure"] or not plan.expired)
        if plan.credit_at is not None:
            if self.cycle < plan.credit_at:
                return {}
            if rng.random() < 0.4:
                return {"granted": 1, **self._fire(pulse)}
            return {"sleep": Phase.READY if plan.has_reason else Phase.BLOCKED}
        if there and not look["sure"]:
            if not certain:
                plan.waited += 1
                return {"sleep": Phase.WAITING} if plan.waited > 4 else {}
            self.counts["certain"] += 1
        if plan.expired and not there:
            return {"drop": 1} if self.now["done"] is None else {}
        if pulse.needs and not there:
            return {"wait": pulse.key, "sleep": Phase.WAITING}
        if not pulse.loaded and rng.random() < 0.3:
            return {"sleep": Phase.LOADING} if rng.random() < 0.6 else {"loads": 1, **self._fire(pulse)}
        if rng.random() < 0.7:
            plan.credit_at, plan.has_reason, pulse.peer = self.cycle + rng.randint(1, 4), False, rng.randrange(2)
            return {}
        return self._fire(pulse)

    def _fire(self, pulse: Pulse) -> dict[str, Any]:
        draw = self.rng.getrandbits
        return {"fire": 1, "sleep": Phase.RUNNING, "advance": draw(1), "cut": draw(1), "clears": draw(1),
                "ends": int(pulse.steps_left <= 1 or pulse.job in self.expire)}

    def _end(self, put) -> None:
        """The end of a pass, never beside a drop."""
        due = self.passes and self.passes[0][0] <= self.cycle
        self.now["done"] = self.passes.pop(0)[1] if due else None
        # A credit that returns while one is refused, or an older context that ends, is a reason to ask again.
        if self.acting and (self.now["returned"] is not None or (due and self.pulses[self.now["done"]].ends)):
            self.acting.has_reason = True
        put(self.part.done.valid, bool(due))
        put(self.part.done.context, self.now["done"] if due else self.rng.randrange(self.n))

    def _choose(self, put, ready: int) -> None:
        """Any context that is ready, or one that begins; and the slice of a context, when it has been measured."""
        rng, part, chosen, acting = self.rng, self.part, self.chosen, self.acting
        # A plan is made when the one before has gone, and a cycle has passed without one.
        if chosen is not None and chosen.act_at == 0 and self.cycle >= chosen.look_at:
            put(part.look.context, chosen.context)
        moves = chosen is not None and acting is None and 0 < chosen.act_at <= self.cycle
        self.now["moves"], room = moves, chosen is None or moves
        take = room and ready and rng.random() < 0.8
        self.now["take"] = rng.choice([c for c in range(self.n) if ready >> c & 1]) if take else None
        put(part.selection.take, bool(take))
        put(part.selection.taken, self.now["take"] if take else rng.randrange(self.n))
        free = [c for c in range(self.n) if c not in self.pulses]
        # A pulse that was offered before may begin in an operation that is being ended.
        jobs = [job for job in range(self.n_jobs) if job not in self.expire or rng.random() < 0.2]
        begins = bool(free and jobs) and rng.random() < 0.3
        self.now["start"] = start = {
            "context": rng.choice(free), "job": rng.choice((*jobs, *jobs[:1])), "cut": rng.getrandbits(1),
            "taken": int(room and not take and rng.random() < 0.5),
        } if begins else None
        put(part.i_start.valid, begins)
        put(part.i_start.payload.as_value(), pack(context_start_layout(self.shapes), start or {
            "context": rng.randrange(self.n), "job": 0, "cut": 0, "taken": 0}))
        measures = chosen is not None and chosen.act_at and not chosen.look["measured"] and not moves
        self.now["measured"] = chosen.context if measures else None
        put(part.i_measured.valid, bool(measures))
        put(part.i_measured.payload.context, chosen.context if measures else 0)
