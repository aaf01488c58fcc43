"""Around the stage of the trigger that acts: plans one by one, and what it must ask for and do with each."""

import copy
import random
from collections import Counter
from typing import Any

from firmware_models.abi.encoding import Operand, Status
from rtl.cou.act_stage import ActStage
from rtl.cou.pass_planner import plan_layout
from rtl.cou.phase import Phase
from rtl.cou.step import STEPS
from testbench.parts.inputs import Inputs, pack_all
from testbench.parts.plans import Situation, differences, draw, plan_of, unpack
from testbench.parts.simulation import Offers, Takes

PATIENCE = 4
"""Cycles for which a packet that is only announced is waited for."""
GAP = 2
"""Most cycles between two things that a plan asks for, if nobody lets it wait."""
SEQ_IDS = 32


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Fields with some of them replaced, within structs too."""
    return base | {name: merged(base[name], value) if isinstance(value, dict) else int(value)
                   for name, value in over.items()}


class Ready(Takes):
    """The credit table's side of a request: none is decided on while it is held, and its `oldest` may change."""

    def __init__(self, credit: Any, rng: random.Random):
        super().__init__(credit.request, rng, overtaken=True)
        self.credit = credit

    def drive(self, context) -> None:
        takes = self.rng.random() < self.rate
        context.set(self.port.ready, takes and not context.get(self.credit.hold))


class Loads(Takes):
    """The loader's side: it takes a request at once while it is idle. An offer may come to be one beside its pass."""

    def __init__(self, loader: Any, rng: random.Random):
        super().__init__(loader.request, rng, overtaken=True)
        self.loader, self.idle = loader, 0

    def drive(self, context) -> None:
        if self.rng.random() < 0.2:
            self.idle ^= 1
        context.set(self.loader.idle, self.idle)
        context.set(self.port.ready, self.idle or self.rng.random() < 0.3)

    def settle(self, read) -> None:
        n_taken = len(self.taken)
        super().settle(read)
        if len(self.taken) > n_taken:
            self.idle = 0


class Later(Offers):
    """Answers of another part: those in `items`, each some cycles after its question."""

    def __init__(self, port: Any, rng: random.Random):
        self.items: list[int] = []
        super().__init__(port, rng, lambda: self.items.pop(0))
        self.may = lambda: bool(self.items)
        self.rate = 0.4


class ActBench:
    """Plans one by one, with all that they ask; `todo` has what the present one is to ask for still, in order:

    ``lookup``, ``found`` (its answer), ``credit``, ``granted``, ``query``, ``window``, ``fault``, ``drop``, ``fire``.
    """

    def __init__(self, part: ActStage, rng: random.Random):
        self.part, self.rng, self.shapes = part, rng, part.shapes
        self.layout = plan_layout(self.shapes)
        self.lookups, self.faults = Takes(part.o_lookup, rng), Takes(part.o_fault, rng)
        self.runs, self.sends = Takes(part.o_run, rng), Takes(part.o_send, rng)
        self.queries, self.credits = Takes(part.window.query, rng), Ready(part.credit, rng)
        self.loads = Loads(part.loader, rng)
        self.found, self.grants = Later(part.i_found, rng), Later(part.credit.answer, rng)
        self.windows = Later(part.window.answer, rng)
        self.plan: dict[str, Any] | None = None
        self.bits, self.left_at, self.cycle = rng.getrandbits(self.layout.size), 0, 0
        self.age = self.certain_at = self.gap = self.ahead = self.missing = 0
        self.todo: list[str] = []
        self.filled = self.window_ok = self.has_reason = self.acted = False
        self.answer: dict[str, int] = {}
        self.reports: list[tuple[Status, int]] = []
        self.asking = False
        self.levels = {"oldest": 0, "finish": 0, "certain": 0, "returned": 0}
        self.counts: Counter[Any] = Counter()

    @property
    def ends(self) -> list[Any]:
        """All that is around the stage. What looks at its outputs to drive its inputs comes last."""
        for end in (self.lookups, self.found, self.credits, self.queries):
            end.rate = 0.7
        return [Inputs(self.drive, self.settle), self.lookups, self.faults, self.runs, self.sends, self.queries,
                self.found, self.grants, self.windows, self.loads, self.credits]

    def drive(self, put) -> None:
        """The plan, which stands a cycle longer than it is on offer, and levels."""
        rng = self.rng
        if self.plan is None and self.cycle > self.left_at + 1 and rng.random() < 0.7:
            self._begin()
        put(self.part.i.valid, self.plan is not None)
        put(self.part.i.payload.as_value(), self.bits)
        self.levels = {"oldest": rng.getrandbits(1), "finish": int(rng.random() < 0.08),
                       "returned": int(rng.random() < 0.08), "certain": rng.getrandbits(1)}
        if self.plan is not None and self.plan["unsure"]:
            self.levels["certain"] = int(self.age >= self.certain_at)
        for name in ("oldest", "finish", "certain"):
            put(getattr(self.part.step, name), self.levels[name])
        put(self.part.returned, self.levels["returned"])

    def _begin(self) -> None:
        """Another plan, of a step that is drawn first: by themselves some are rare."""
        step = self.rng.choice((*STEPS, "check", "credit", "fill"))
        plans = (plan_of(self._situation(step)) for _ in range(8))
        plan = next((plan for plan in plans if plan["step"].get(step, plan["fill"])), None)
        plan = plan or plan_of(draw(self.rng, self.shapes))
        if plan["step"]["search"] and self.rng.random() < 0.3:
            plan["wanted"] = self.rng.choice((31, 32, 33, 300))
            self.counts["long search"] += plan["wanted"] > SEQ_IDS
        base = unpack(self.layout, self.rng.getrandbits(self.layout.size))
        base["load"]["beside"] = 0
        self.plan = plan = merged(base, plan)
        self.bits = pack_all(self.layout, plan)
        self.age, self.gap, self.certain_at = 0, 0, self.rng.randint(0, 7)
        self.filled = self.window_ok = self.acted = False
        self.ahead = self.missing = 0
        self.reports = []
        step = next(name for name in STEPS if plan["step"][name])
        self.counts[step] += 1
        self.counts["check and credit"] += step == "check" and plan["sends"]
        self.counts["check and report"] += step == "check" and plan["remarkable"]
        report = ["fault"] if plan["remarkable"] else []
        credit = ["credit", "granted"] if plan["sends"] else []
        searches = ["lookup", "found"] * min(plan["wanted"], SEQ_IDS)
        self.todo = {
            "search": [*searches, "fault", "drop"], "give_up": ["fault", "drop"], "load": [], "ask": ["lookup"],
            "check": [*credit, "query", "window", *report, "fire"], "credit": [*credit, *report, "fire"],
            "run": [*report, "fire"],
        }[step]

    def _situation(self, step: str) -> Situation:
        """A situation that is likely to lead to this step."""
        s = draw(self.rng, self.shapes)
        s.expired = int(step in ("search", "give_up"))
        fault = self.rng.choice((Status.LENGTH_MISMATCH, Status.BAD_TERMS, None, None, None))
        if fault is Status.LENGTH_MISMATCH:
            s.packet["status"], s.packet["length"], s.operation["terms"], s.desc["reduce_flag"] = 0, 16, 0, 1
        elif fault is Status.BAD_TERMS:
            s.operation["terms"], s.packet["swap_addr"] = s.packet["addr"] % (1 << 16) ^ 1, 0
        if step in ("check", "credit"):
            s.progress["clear"], s.look["loaded"] = 0, 1
        if step in ("load", "fill"):
            s.desc["operand"] = (Operand.MEMORY if step == "load" else Operand.PAYLOAD).value
            s.progress["clear"], s.progress["middle"], s.look["loaded"] = 0, 0, 0
        if step == "check":
            s.packet["swap_addr"], s.operation["blocks"]["cut"] = self.rng.getrandbits(1), 0
        return s

    def _report(self) -> tuple[int, int]:
        """Status and detail of the fault that is due."""
        plan = self.plan
        pulse = plan["run"]["output"]["header"]["pulse"]
        if plan["step"]["search"] or plan["step"]["give_up"]:
            return Status.TIMEOUT.value, plan["consumed"] | pulse << 16 | self.missing << 32
        if plan["differs"]:
            return Status.BAD_TERMS.value, plan["marked_by"] | plan["brought_terms"] << 24 | pulse << 48
        if plan["marked"]:
            return (Status.PEER_ERROR.value,
                    plan["marked_by"] | plan["mark"] << 24 | plan["consumed"] << 32 | pulse << 48)
        return Status.LENGTH_MISMATCH.value, plan["consumed"] | pulse << 16 | plan["brought_bytes"] << 32

    def settle(self, read) -> None:
        """Compares all outputs of this cycle."""
        part, step = self.part, self.part.step
        ports = {"lookup": part.o_lookup, "fault": part.o_fault, "run": part.o_run, "send": part.o_send,
                 "query": part.window.query, "load": part.loader.request, "credit": part.credit.request}
        shown = {name for name, port in ports.items() if read(port.valid)}
        self.now = {"shown": shown, "taken": {name for name in shown if read(ports[name].ready)},
                    "sleep": None, "pulses": set(), "drop": False}
        assert read(part.want.asks) == self.asking
        wanted = self._act(read) if self.plan is not None else set()
        assert shown == wanted
        now = self.now
        assert read(step.sleep) == (now["sleep"] is not None)
        assert now["sleep"] is None or read(step.next_phase.as_value()) == now["sleep"].value
        assert read(step.drop) == now["drop"]
        names = {"fire": step.fire, "wait": step.wait, "loads": step.loads, "granted": part.want.granted,
                 "fired": part.fired, "written": part.o_write_started.valid}
        assert {name for name, port in names.items() if read(port)} == now["pulses"]
        leaves = now["sleep"] is not None or now["drop"]
        if self.plan is not None:
            assert read(part.i.ready) == leaves
            assert read(step.context) == self.plan["context"]
        self.age, self.cycle = self.age + 1, self.cycle + 1
        if leaves:
            self.counts["left"] += 1
            self.plan, self.left_at = None, self.cycle - 1

    def _act(self, read) -> set[str]:
        """Streams on which there must be an offer; notes in `now` what happens to the context."""
        plan, now, part = self.plan, self.now, self.part
        taken = now["taken"]
        if plan["unsure"] and not self.levels["certain"]:
            return self._awaits(read)
        if plan["unsure"] and self.age == self.certain_at > 0:
            self.counts["announced"] += 1
        if plan["step"]["load"] or (plan["fill"] and not self.filled and not self.loads.idle):
            self._compare(read, part.loader.request, plan["load"])
            if "load" in taken:
                now["sleep"] = Phase.LOADING
                self.counts["loaded before"] += plan["fill"]
            return {"load"}
        wanted = set()
        if plan["fill"] and not self.filled:
            self._compare(read, part.loader.request, plan["load"] | {"beside": 1})
            now["pulses"].add("loads")
            self.filled = True
            self.counts["loaded beside"] += 1
            wanted.add("load")
        first, self.acted = not self.acted, True
        wanted |= self._next(read, first=first)
        return wanted

    def _awaits(self, read) -> set[str]:
        """A packet that is only announced: nothing happens, and in the end the context sleeps."""
        assert read(self.part.credit.hold)
        if self.age == PATIENCE:
            self.now["sleep"] = Phase.WAITING
            self.counts["not waited for"] += 1
            return self.now["shown"] & {"credit"}
        return {"credit"} if self.plan["step"]["credit"] else set()

    def _next(self, read, *, first: bool) -> set[str]:
        """The next thing that a plan asks for."""
        plan, now = self.plan, self.now
        shown, taken, item = now["shown"], now["taken"], self.todo[0]
        if item == "granted":
            return self._granted(read)
        if item == "window":
            return self._window(read)
        if item == "found":
            if self.found.offered is not None:
                assert read(self.part.i_found.ready)
                self.missing |= self.found.offered << (plan["key"]["seq_id"] + self.ahead) % SEQ_IDS
                self.ahead += 1
                self.todo.pop(0)
            return set()
        if item == "drop":
            now["drop"] = bool(read(self.part.step.drop))
            self._keeps_on(now["drop"])
            return set()
        stream = ("send" if plan["direct"] else "run") if item == "fire" else item
        # A pass that waits for nothing is offered at once.
        assert stream in shown or not (first and item == "fire"), "a pass is late"
        self._keeps_on(stream in shown)
        if stream not in shown:
            return set()
        getattr(self, f"_{item}")(read, stream in taken)
        return {stream}

    def _keeps_on(self, happens: bool) -> None:
        self.gap = 0 if happens else self.gap + 1
        assert self.gap <= GAP, f"{self.todo[0]} does not come"

    def _compare(self, read, port: Any, wanted: dict[str, Any]) -> None:
        shape = port.payload.shape()
        assert not differences(unpack(shape, read(port.payload.as_value())), wanted)

    def _lookup(self, read, taken: bool) -> None:
        plan = self.plan
        search = plan["step"]["search"]
        key = plan["key"] | {"seq_id": (plan["key"]["seq_id"] + self.ahead) % SEQ_IDS}
        self._compare(read, self.part.o_lookup, {
            "key": key, "context": plan["context"], "job": plan["job"], "search": search})
        if not taken:
            return
        self.todo.pop(0)
        if search:
            self.found.items.append(self.rng.getrandbits(1))
        else:
            self.now["sleep"] = Phase.WAITING
            self.now["pulses"].add("wait")
            assert unpack(self.shapes.key, read(self.part.step.key.as_value())) == plan["key"]

    def _credit(self, read, taken: bool) -> None:
        plan, header = self.plan, self.plan["run"]["output"]["header"]
        assert not read(self.part.credit.hold)
        self._compare(read, self.part.credit.request, {
            "job_id": header["job_id"], "peer": header["peer"], "multicast": header["multicast"],
            "members": plan["members"], "oldest": self.levels["oldest"]})
        assert read(self.part.want.peer) == header["peer"]
        if taken:
            self.todo.pop(0)
            self.asking = True
            self.has_reason = bool(self.levels["returned"] | self.levels["finish"])
            ok = int(self.rng.random() < 0.6)
            answer = {"ok": ok, "window_slot": self.rng.getrandbits(2), "loan": self.rng.getrandbits(1),
                      "want": self.rng.getrandbits(1)}
            self.grants.items.append(pack_all(self.part.credit.answer.payload.shape(), answer))

    def _granted(self, read) -> set[str]:
        """The answer of the credit table: the pass goes in the same cycle if nothing else is to be done."""
        self.has_reason |= bool(self.levels["returned"] | self.levels["finish"])
        if self.grants.offered is None:
            return set()
        assert read(self.part.credit.answer.ready)
        assert read(self.part.want.peer) == self.plan["run"]["output"]["header"]["peer"]
        self.asking = False
        self.answer = unpack(self.part.credit.answer.payload.shape(), self.grants.offered)
        self.todo.pop(0)
        if not self.answer["ok"]:
            self.now["sleep"] = Phase.READY if self.has_reason else Phase.BLOCKED
            self.counts[self.now["sleep"]] += 1
            return set()
        self.now["pulses"].add("granted")
        return self._next(read, first=True) if self.todo[0] == "fire" else set()

    def _query(self, read, taken: bool) -> None:
        query = self.plan["query"]
        vp = self.plan["run"]["output"]["header"]["source_vp"]
        self._compare(read, self.part.window.query, query | {"vp": vp})
        if taken:
            self.todo.pop(0)
            self.windows.items.append(int(self.rng.random() < 0.6))

    def _window(self, read) -> set[str]:
        """The answer of the window check, which is taken with its report if the address is bad."""
        if self.windows.offered is None:
            return set()
        self.window_ok = bool(self.windows.offered)
        reported = "fault" in self.now["taken"]
        assert read(self.part.window.answer.ready) == (self.window_ok or read(self.part.o_fault.ready))
        if not self.window_ok:
            self._compare(read, self.part.o_fault, {
                "job": self.plan["job"], "status": Status.BAD_ADDRESS.value,
                "detail": self.plan["run"]["output"]["result_addr"]})
            self.counts[Status.BAD_ADDRESS] += reported
        if self.window_ok or reported:
            self.todo.pop(0)
        return set() if self.window_ok else {"fault"}

    def _fault(self, read, taken: bool) -> None:
        status, detail = self._report()
        self._compare(read, self.part.o_fault, {"job": self.plan["job"], "status": status, "detail": detail})
        if taken:
            self.todo.pop(0)
            self.counts[Status(status)] += 1

    def _fire(self, read, taken: bool) -> None:
        """The pass, with the credit that it travels on. Nothing is written to an address that no window holds."""
        plan, now = self.plan, self.now
        wanted = copy.deepcopy(plan["run"])
        output = wanted["output"]
        header = output["header"]
        if plan["foreign"] and not self.window_ok:
            output["write_back"] = 0
        for name, field in (("tag", "window_slot"), ("loan", "loan"), ("want", "want")):
            del header[name]
            header |= {name: self.answer[field]} if plan["sends"] else {}
        if plan["direct"]:
            wanted = {"a": wanted["a"], **{name: output[name] for name in (
                "context", "position", "bytes", "send", "header")}}
        self._compare(read, self.part.o_send if plan["direct"] else self.part.o_run, wanted)
        if not taken:
            return
        self.todo.pop(0)
        now["sleep"] = Phase.RUNNING
        now["pulses"] |= {"fire"} | ({"fired"} if plan["final"] else set())
        if output["write_back"]:
            now["pulses"].add("written")
            assert read(self.part.o_write_started.payload.job) == plan["job"]
        step = self.part.step
        assert [read(signal) for signal in (step.advance, step.ends, step.cut, step.clears)] == [
            plan[name] for name in ("final", "ends", "cut", "clears")]
        self.counts["sent" if plan["direct"] else "run"] += 1
