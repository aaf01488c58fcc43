"""The trigger among neighbours that take, answer and lose time as they like, against a naive model of each pulse."""

import heapq
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import cocotb
from cocotb.handle import SimHandleBase

from firmware_models.abi.encoding import Operand, Right, Status, TraceKind
from firmware_models.config import Config
from testbench import clock
from testbench.codec import decoder, encode
from testbench.cou.trigger_buffer import Buffer
from testbench.cou.trigger_credits import Credits
from testbench.cou.trigger_marks import check_mark, own_report
from testbench.cou.trigger_model import BAD, MTU, Operation, Pulse, report_of
from testbench.cou.trigger_operations import CONTEXTS, JOBS, NODE, serve, start_pulses
from testbench.coverage import cover
from testbench.edge import bits, every_cycle, level
from testbench.runner import report, rng
from testbench.stream import StreamMonitor, StreamSink, StreamSource
from testbench.unit_config import UNIT

noted_pass = cover("planned", source=("ZERO", "OPERAND", "RESULT"), select=("PASS_A", "PASS_B", "COMBINE"))
noted_path = cover("path", direct=(0, 1), sends=(0, 1), cut=(0, 1))
noted_wait = cover(
    "packet", came=("before it was asked for", "after it was missed"),
    others=("a later one is there", "none is there"),
)
noted_report = cover("report", status=(
    "LENGTH_MISMATCH", "BAD_ADDRESS", "TIMEOUT", "BUFFER_ERROR", "PEER_ERROR", "BAD_TERMS",
))
noted_mark = cover("mark of a packet that is sent", why=("none", "own", "before"))
noted_credit = cover("credit", ok=(0, 1), oldest=(0, 1))


def config() -> Config:
    """Of the component."""
    return UNIT.changed(
        datapath={"data_width": 64, "mtu": MTU},
        cou={"n_jobs": JOBS, "n_contexts": CONTEXTS, "sequence_depth": 8, "buffer_bytes": 256 * MTU, "n_peers": 4,
             "n_blocks": 4, "intermediate_bytes": 256},
    )


class Bench:
    """Drivers, monitors and checkers around the board; `early`: operations are given up at any time."""

    def __init__(self, dut: SimHandleBase, *, early: bool):
        from testbench.cou.trigger_board import TriggerBoard

        self.dut, self.early, self.rng = dut, early, rng(f"bench {early}")
        board = TriggerBoard(config())
        self.board, self.shapes = board, {}
        members = board.signature.members
        self.shape = {
            name: members[name].signature.members["payload"].shape for name in members
            if members[name].is_signature and name != "window"
        }
        for name in ("query", "answer"):
            self.shape[f"window__{name}"] = members["window"].signature.members[name].signature.members["payload"].shape
        self.sources = {
            name: StreamSource(dut, name, self.shape[name])
            for name in ("i_start", "i_loaded", "i_lookup", "i_arrival", "i_credit", "window__answer", "i_done")
        }
        calls: dict[str, Callable[[Any], None]] = {
            "o_load": self._load, "o_lookup": self._looked_up, "o_credit": self._credit, "o_run": self._run,
            "o_send": self._send, "o_fault": self._report, "window__query": self._check,
        }
        # Reports are taken slowly, so that one has to wait for another.
        self.sinks = {
            name: StreamSink(dut, name, self.shape[name], callback=call, stall=0.97 if name == "o_fault" else None)
            for name, call in calls.items()
        }
        StreamMonitor(dut, "i_loaded", self.shape["i_loaded"], callback=self._loaded)
        StreamMonitor(dut, "i_done", self.shape["i_done"], callback=self._done)
        self.now = 0
        self.writes: list[tuple[str, Any, Any]] = []
        self._later: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self.jobs: list[Operation | None] = [None] * JOBS
        self.contexts: dict[int, Pulse] = {}
        self.buffer = Buffer(
            self.rng, later=self.later, writes=self.writes, arrivals=self.sources["i_arrival"], spoils=not early,
        )
        self.credits = Credits(self.rng, self._parted, noted_credit)
        self.expire = 0
        self.last_change = [0] * JOBS
        self.counts: Counter[str] = Counter()
        self.fired = [0, 0]
        self.written = [[0, 0] for _ in range(JOBS)]
        self.given_up: list[Pulse] = []
        self.leaving: list[Pulse] = []

    async def begin(self) -> None:
        """Clock and reset."""
        await clock.start(self.dut, max_cycles=80_000)
        self.dut.node_id.value = NODE
        handles = {name: getattr(self.dut, name) for name in ("trace_valid", "fired", "write_started", "beside")}
        self._level = {name: level(handle) for name, handle in handles.items()}
        self._event, self._job = bits(self.dut.trace_event), bits(self.dut.write_job)
        self._beside, self._beside_load = bits(self.dut.beside_load), decoder(self.board.shapes.load)
        self._trace = decoder(self.board.signature.members["trace_event"].shape)
        every_cycle(self.dut.clk, self._cycle)

    def later(self, call: Callable[[], None], most: int = 30) -> None:
        """Calls `call` after a random number of cycles."""
        delay = self.rng.choice((1, 1, 2, 3, self.rng.randint(1, most)))
        self._order += 1
        heapq.heappush(self._later, (self.now + delay, self._order, call))

    def _cycle(self) -> None:
        self.now += 1
        self.fired[0] += self._level["fired"]()
        if self._level["write_started"]():
            self.written[self._job()][0] += 1
        if self._level["beside"]():
            self._load_beside(self._beside_load(self._beside()))
        self.dut.loader_idle.value = self.rng.randrange(2)
        if self._level["trace_valid"]():
            self._traced(self._trace(self._event()))
        while self._later and self._later[0][0] <= self.now:
            heapq.heappop(self._later)[2]()
        peer = self.credits.come_back(self.now)
        self.dut.returned.value = int(peer is not None)
        if peer is not None:
            self.dut.returned_peer.value = peer
        if self.now % 16 == 0:
            self.credits.check(self.pulses(), self.now)
        # One entry of a memory a cycle.
        for name in ("operation", "descriptor", "header"):
            getattr(self.dut, f"write_{name}").value = 0
        if self.writes:
            name, address, value = self.writes.pop(0)
            if name == "arrival":
                value()
                return
            where, shape = self.board.tables[name]
            getattr(self.dut, f"{name}_address").value = address if isinstance(address, int) else encode(where, address)
            getattr(self.dut, f"{name}_data").value = encode(shape, value)
            getattr(self.dut, f"write_{name}").value = 1

    # Pulses.

    def pulses(self) -> list[Pulse]:
        """Those that have a context."""
        return list(self.contexts.values())

    def _pulse(self, context: int) -> Pulse:
        assert context in self.contexts, f"context {context} has no pulse"
        pulse = self.contexts[context]
        self.last_change[pulse.operation.job] = self.now
        return pulse

    def _traced(self, event: dict[str, int]) -> None:
        if event["event"] == TraceKind.PULSE_START:
            operation = next(op for op in self.jobs if op is not None and op.job_id == event["job_id"])
            pulse = next(p for p in operation.pulses if p.number == event["pulse"])
            # The entry of a pulse that is given up may wait for its turn, with the end of passes before it.
            if (old := self.contexts.pop(event["index"], None)) is not None:
                assert old.operation.expired or old.ended, "a context given twice"
                self.leaving.append(old)
            assert pulse.context is None
            pulse.context = event["index"]
            self.contexts[pulse.context] = pulse
            self.last_change[operation.job] = self.now
        elif event["event"] == TraceKind.PULSE_END:
            whose = event["job_id"], event["pulse"]
            pulse = next((p for p in self.leaving if (p.operation.job_id, p.number) == whose), None)
            if pulse is None:
                pulse = self.contexts.pop(event["index"])
            else:
                self.leaving.remove(pulse)
            assert whose == (pulse.operation.job_id, pulse.number)
            assert pulse.ended or pulse.operation.expired, "a pulse ended before its sequence"
            pulse.ended = True
            self.last_change[pulse.operation.job] = self.now

    # Operands.

    def _load_beside(self, item: dict[str, Any]) -> None:
        assert item["from_payload"], "an operand in host memory is reported"
        self._checked_load(item)
        self._pulse(item["context"]).loaded = True
        self.counts["loads beside"] += 1

    def _load(self, item: dict[str, Any]) -> None:
        pulse = self._checked_load(item)
        pulse.loading = True
        self.counts["loads"] += 1
        self.later(lambda: self.sources["i_loaded"].append({"context": item["context"]}))

    def _checked_load(self, item: dict[str, Any]) -> Pulse:
        pulse = self._pulse(item["context"])
        lenient = pulse.operation.expired
        assert not pulse.loading
        assert not pulse.running
        assert lenient or pulse.wants_operand(), "an operand that nobody needs"
        assert item["position"] == pulse.place
        assert item["job"] == pulse.operation.job
        assert item["from_payload"] == (pulse.desc["operand"] == Operand.PAYLOAD)
        assert item["addr"] == pulse.start(), "the operand's place in the message"
        pieces = item["pieces"]
        assert pieces["count"] * pieces["bytes"] + pieces["last_bytes"] == pulse.slice()[1]
        return pulse

    def _loaded(self, item: dict[str, Any]) -> None:
        pulse = self._pulse(item["context"])
        pulse.loading, pulse.loaded = False, True

    # Packets, credits and addresses.

    def _looked_up(self, key: dict[str, int]) -> None:
        whose = key["job_id"], key["pulse"]
        owner = next((p for p in self.pulses() if (p.operation.job_id, p.number) == whose), None)
        assert owner is not None, "a look-up for nobody"
        self.last_change[owner.operation.job] = self.now
        self.sources["i_lookup"].append(self.buffer.look_up(key, owner))

    def _credit(self, item: dict[str, int]) -> None:
        asking = [
            p for p in self.pulses() if p.operation.job_id == item["job_id"] and not p.running and not p.ending
            and p.desc["peer"] == item["peer"] and (p.operation.expired or p.next_pass()["sends"])
        ]
        assert asking, "a credit that nobody needs"
        oldest = next(p for p in asking[0].operation.pulses if p in asking or not self._parted(p))
        assert not item["oldest"] or oldest in asking, "a younger pulse takes the last credit"
        pair = item["job_id"], item["peer"]
        self.sources["i_credit"].append(
            self.credits.ask(pair, oldest=item["oldest"], asking=asking, now=self.now)
        )

    def _parted(self, pulse: Pulse) -> bool:
        """True if its last pass has gone, maybe into the queue from which it has not been taken yet."""
        if pulse.ended or pulse.ending:
            return True
        last = pulse.next_pass()
        places = self.credits.places()
        return last["ends"] and (not last["sends"] or (pulse.operation.job_id, pulse.desc["peer"]) in places)

    def _sent(self, header: dict[str, int]) -> None:
        pair = header["job_id"], header["peer"]
        self.credits.use(pair, window_slot=header["tag"], loan=header["loan"], want=header["want"])

        # Slowly, so that the oldest pulse is refused as well.
        self._order += 1
        back = partial(self.credits.returns.append, pair)
        together = 400 - self.now % 400
        heapq.heappush(
            self._later, (self.now + self.rng.choice((self.rng.randint(1, 400), together)), self._order, back)
        )

    def _check(self, item: dict[str, int]) -> None:
        def asks(pulse: Pulse) -> bool:
            done = pulse.next_pass()
            packet, cut = done["packet"], pulse.operation.message.cut
            brought = packet is not None and packet.header["swap_addr"] and not cut
            return done["foreign"] and item == {
                "vp": pulse.operation.vp,
                "addr": done["packet"].header["addr"] if brought else pulse.desc["result_addr"],
                "bytes": done["size"] if brought else sum(pulse.operation.message.blocks),
                "right": int(Right.REMOTE_WRITE if brought else Right.LOCAL_WRITE),
            }
        assert any(
            pulse.operation.expired or (not pulse.running and not pulse.ending and asks(pulse))
            for pulse in self.pulses()
        ), "an address that nobody needs"
        self.sources["window__answer"].append({"ok": int(item["addr"] < BAD)})

    # Passes.

    def _run(self, item: dict[str, Any]) -> None:
        pulse, output = self._pulse(item["output"]["context"]), item["output"]
        done = self._passed(
            pulse, output["header"], send=output["send"], size=output["bytes"], position=output["position"]
        )
        packet = done["packet"]
        assert item["consume"] == (packet is not None)
        if packet is not None:
            assert item["packet"] == self.buffer.slots[packet.key], "another packet"
            assert tuple(item["key"].values()) == packet.key
            credit = item["credit"]
            assert (credit["peer"], credit["dest_id"]) == (packet.header["peer"], packet.header["source_id"])
            assert credit["credits"] == 1
            assert credit["job_id"] == pulse.operation.job_id
            overtaken = any(p.key in self.buffer.slots for p in pulse.packets[pulse.consumed:])
            noted_wait(
                came="after it was missed" if packet.key in self.buffer.missed else "before it was asked for",
                others="a later one is there" if overtaken else "none is there",
            )
            self.later(lambda: self.buffer.free(packet.key))
        if pulse.operation.expired:
            return
        assert not done["direct"], "a pass that only sends on the path that combines"
        assert item["use_packet"] == done["use"]
        assert output["write_back"] == done["writes"]
        if done["writes"]:
            assert output["result_addr"] == done["address"], "written elsewhere"
            self.written[pulse.operation.job][1] += 1
        self._compared(item, done, pulse)
        selects = ("PASS_A", "PASS_B", "COMBINE")
        assert selects[item["select"]] == done["select"]
        noted_pass(source=done["source"], select=done["select"])
        assert (item["datatype"], item["operator"]) == (
            self._desc_before["datatype"], self._desc_before["operator"]
        )

    def _send(self, item: dict[str, Any]) -> None:
        pulse = self._pulse(item["context"])
        done = self._passed(pulse, item["header"], send=item["send"], size=item["bytes"], position=item["position"])
        assert done["packet"] is None, "a packet is not consumed"
        if not pulse.operation.expired:
            assert done["direct"], "a pass that does more than send"
            self._compared(item, done, pulse)

    def _compared(self, item: dict[str, Any], done: dict[str, Any], pulse: Pulse) -> None:
        assert ("ZERO", "OPERAND", "RESULT")[item["a"]] == done["source"], "operand a"
        noted_path(direct=int(done["direct"]), sends=int(done["sends"]), cut=int(pulse.operation.message.cut))

    def _passed(self, pulse: Pulse, header: dict[str, int], *, send: int, size: int, position: int) -> dict[str, Any]:
        assert not any((pulse.running, pulse.loading, pulse.ending)), "a second pass at once, or one too many"
        address = None
        done = pulse.next_pass()
        if done["foreign"]:
            packet, cut = done["packet"], pulse.operation.message.cut
            asked = packet.header["addr"] if packet.header["swap_addr"] and not cut else pulse.desc["result_addr"]
            if asked >= BAD:
                done, address = pulse.next_pass(window_ok=False), done["address"]
        assert (header["job_id"], header["pulse"]) == (pulse.operation.job_id, pulse.number)
        assert (header["seq_id"], header["source_vp"]) == (pulse.place, pulse.operation.vp), "another descriptor"
        assert header["addr"] == pulse.operation.terms, "terms of another operation"
        if send:
            self._sent(header)
        strict = not pulse.operation.expired
        if strict:
            assert not pulse.wants_operand(), "a pass before its operand"
            assert (send, size, position) == (done["sends"], done["size"], done["position"])
            own = own_report(pulse, done)
            if send:
                noted_mark(why=check_mark(pulse, own, header))
            reports = [own] if own else []
            if address is not None:
                reports.append((int(Status.BAD_ADDRESS), address))
            pulse.operation.expected += reports
            pulse.blamed |= bool(reports)
        self._desc_before = pulse.desc
        pulse.take(done)
        self.fired[1] += done["final"]
        self.counts["passes"] += 1
        self.later(lambda: self.sources["i_done"].append({"context": pulse.context}))
        return done

    def _done(self, item: dict[str, Any]) -> None:
        pulse = self._pulse(item["context"])
        pulse.running, pulse.ended = False, pulse.ending

    # Reports.

    def _report(self, item: dict[str, int]) -> None:
        operation = self.jobs[item["job"]]
        assert operation is not None, "a report of an operation that has ended"
        status = Status(item["status"])
        noted_report(status=status.name)
        self.last_change[operation.job] = self.now
        if status is Status.TIMEOUT:
            assert operation.expired
            pulse = next(p for p in operation.pulses if p.number == item["detail"] >> 16 & 0xFFFF)
            assert pulse not in self.given_up, "given up twice"
            self.given_up.append(pulse)
            assert not pulse.ending, "given up after its last pass"
            if not self.early:
                assert item["detail"] == report_of(pulse, status, pulse.missing())[1], "what was missing"
            return
        operation.received.append((item["status"], item["detail"]))
        self.counts["reports"] += 1


@cocotb.test()
@cocotb.parametrize(early=(False, True))
async def every_pulse_goes_through_its_sequence(dut: SimHandleBase, early: bool) -> None:
    """Each pass is the one that is next, each packet is taken in its turn and once, every fault is reported once."""
    bench = Bench(dut, early=early)
    await bench.begin()
    cocotb.start_soon(start_pulses(bench))
    await clock.cycles(dut, 2)
    jobs = [cocotb.start_soon(serve(bench, job)) for job in range(JOBS)]
    for job in jobs:
        await job
    await clock.cycles(dut, 100)
    assert int(dut.n_free.value) == CONTEXTS
    assert early or bench.counts["given_up"] or bench.fired[0] == bench.fired[1]
    report(**{f"{name}_{'early' if early else 'late'}": count for name, count in bench.counts.items()})
