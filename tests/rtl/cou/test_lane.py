"""The lane: operands of passes, pair by pair, and all that leaves with the packets that they consume."""

import random
from collections import Counter, deque

import pytest

from firmware_models.abi.encoding import Status
from firmware_models.config import Config
from rtl.abi import HashKey, PacketHeader
from rtl.cou.lane import Lane, tag_layout
from rtl.cou.shapes import CouShapes, Select, Source
from rtl.credit.layouts import credit_notice
from rtl.reduce.reduce_unit import request_layout
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs, OperandMemory, pack
from testbench.parts.simulation import Offers, Takes, fields, run
from testbench.unit_config import UNIT

CONFIGS = {
    "narrow": UNIT.changed(datapath={"data_width": 64, "mtu": 64}, cou={
        "n_jobs": 2, "n_contexts": 2, "intermediate_bytes": 128, "n_peers": 2, "buffer_bytes": 1024}),
    "wide": UNIT.changed(datapath={"data_width": 128, "mtu": 128}, cou={
        "n_contexts": 8, "intermediate_bytes": 256, "ecc": True}),
}


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


class PacketBeats:
    """The packet buffer: beats of the packets that are read, some of them damaged."""

    def __init__(self, port, rng: random.Random):
        self.port, self.rng, self.idle = port, rng, 0.4
        self.beats: deque[tuple[int, int]] = deque()
        self._shown = False

    def drive(self, context) -> None:
        """A beat with its mark, which says anything while there is none."""
        self._shown = bool(self.beats) and (self._shown or self.rng.random() >= self.idle)
        word, damaged = self.beats[0] if self._shown else (self.rng.getrandbits(64), self.rng.getrandbits(1))
        context.set(self.port.beats.valid, self._shown)
        context.set(self.port.beats.payload.data, word)
        context.set(self.port.beats.payload.last, self.rng.getrandbits(1))
        context.set(self.port.damaged, damaged)

    def settle(self, read) -> None:
        """A beat that is taken."""
        if self._shown and read(self.port.beats.ready):
            self.beats.popleft()
            self._shown = False


class Bench:
    """Passes of contexts, one of each at a time; `order` has them as they began.

    With a `script` its passes come, and none begins before all have been taken; `calm`: nothing waits.
    """

    def __init__(self, config: Config, rng: random.Random, *, script: list[dict] | None = None, calm: bool = False,
                 crowded: int | None = None):
        self.config, self.rng = config, rng
        self.script, self.calm, self.crowded = None if script is None else deque(script), calm, crowded
        self.n_first = 0 if script is None or calm else len(script)
        self.shapes = shapes = CouShapes(config)
        self.part = Lane(shapes=shapes, n_contexts=config.cou.n_contexts, ecc=config.cou.ecc)
        self.run_shape, self.output = shapes.run, shapes.output
        self.flit, self.mtu, self.n = config.datapath.flit_bytes, config.datapath.mtu, config.cou.n_contexts
        self.size, self.n_slots = config.cou.intermediate_bytes, config.buffer_slots
        self.tag = tag_layout(shapes)
        self.request = request_layout(data_width=8 * self.flit, tag_width=self.tag.size)
        self.operands = [rng.randbytes(self.mtu) for _ in range(self.n)]
        self.results = [rng.randbytes(2 * self.size) for _ in range(self.n)]
        self.hold = [0] * self.n
        self.free = set(range(self.n))
        self.waiting: list[dict] = []
        self.order: list[dict] = []
        self.beats: list[tuple[dict, int]] = []
        """Beats of the passes that have begun: pass, and number of the beat."""
        self.to_read: deque[dict] = deque()
        self.credits: list[dict[str, int]] = []
        self.frees: list[dict] = []
        self.faults: list[dict[str, int]] = []
        self.n_taken = self.n_freed = self.cycle = 0
        self.consumed_at: list[int] = []
        self.beats_at: list[int] = []
        self.output_ready = self.barred = 0
        self.counts: Counter[object] = Counter()
        self.offered_at: list[int] = []
        self.shown: dict[str, int] | None = None

    def _draw(self) -> dict:
        rng, flit = self.rng, self.flit
        use, send, write = rng.random() < 0.5, rng.getrandbits(1), rng.getrandbits(1)
        n_bytes = rng.choice((0, 1, flit - 1, flit, flit + 1, 3 * flit, rng.randint(0, self.mtu)))
        return {
            "a": rng.choice(list(Source)).value, "use_packet": int(use), "consume": int(use or rng.random() < 0.3),
            "select": rng.choice((Select.PASS_B, Select.COMBINE)).value if use else Select.PASS_A.value, "send": send,
            "write_back": write, "bytes": n_bytes or int(use or write), "peer": rng.randrange(3),
        }

    def item(self) -> int:
        """A pass of a free context."""
        rng, todo = self.rng, self.script.popleft() if self.script is not None else self._draw()
        context = rng.choice(sorted(self.free))
        self.free.discard(context)
        self.offered_at.append(self.cycle)
        self.hold[context] = 0 if self.calm else rng.choice((0, 0, 0, 5))
        todo |= {
            "context": context, "job": rng.randrange(self.config.cou.n_jobs), "packet": rng.randrange(self.n_slots),
            "position": rng.randint(0, self.size - todo["bytes"]), "datatype": rng.randrange(7),
            "operator": rng.randrange(9), "key": rng.getrandbits(HashKey.size), "data": rng.randbytes(self.mtu),
            "credit": rng.getrandbits(credit_notice().size),
            "damaged": [int(rng.random() < 0.25) for _ in range(0, max(1, todo["bytes"]), self.flit)],
        }
        output = {name: todo[name] for name in ("context", "job", "position", "bytes", "send", "write_back")}
        header = pack(PacketHeader, {"peer": todo["peer"], "tag": rng.getrandbits(16), "length": todo["bytes"]})
        todo["output"] = pack(self.output, {
            **output, "header": header, "result_addr": rng.getrandbits(64), "pieces": rng.getrandbits(20)})
        self.waiting.append(todo)
        return pack(self.run_shape, {name: todo[name] for name in self.run_shape.members})

    def operand(self, address: int) -> int:
        """A word of the operand memory; one that is being loaded reads as something else."""
        context, beat = divmod(address, self.mtu // self.flit)
        return int.from_bytes(self.operands[context][beat * self.flit:][:self.flit], "little") ^ bool(
            self.hold[context])

    def result(self, address: int) -> int:
        """A word of the intermediate results."""
        context, byte = divmod(address, self.size)
        return int.from_bytes(self.results[context][byte:][:self.flit], "little")

    def wanted(self, todo: dict, number: int) -> tuple[dict[str, int], int | None]:
        """Fields of a request, and its operand b if a packet brings it."""
        flit, n_bytes = self.flit, todo["bytes"]
        content = {Source.ZERO.value: bytes(self.mtu), Source.OPERAND.value: self.operands[todo["context"]],
                   Source.RESULT.value: self.results[todo["context"]][todo["position"]:]}[todo["a"]]
        tag = pack(self.tag, {
            "last": (number + 1) * flit >= n_bytes, "store": n_bytes > 0, "send": todo["send"] and n_bytes > 0,
            "write_back": todo["write_back"], "tail": n_bytes % flit, "context": todo["context"],
            "position": (todo["position"] + number * flit) % self.size,
        })
        b = int.from_bytes(todo["data"][number * flit:][:flit], "little") if todo["use_packet"] else None
        return {
            "a": int.from_bytes(content[number * flit:][:flit], "little"), "odd": number % 2, "tag": tag,
            **{name: todo[name] for name in ("select", "datatype", "operator")},
        }, b

    def drive(self, put) -> None:
        """Levels. Room for an output that is shown stays until one comes."""
        rng, part = self.rng, self.part
        self.output_ready = self.output_ready or self.calm or rng.random() < 0.5
        self.barred = int(len(self.source.taken) < self.n_first or (not self.calm and rng.random() < 0.2))
        put(part.o_output.ready, self.output_ready)
        put(part.packets.leaving.barred, self.barred)
        put(part.crowded, self.crowded if self.crowded is not None else rng.getrandbits(1))
        put(part.filling, sum(bool(hold) << context for context, hold in enumerate(self.hold)))

    def step(self, read) -> None:
        """All that leaves in this cycle."""
        self.hold = [max(0, hold - 1) for hold in self.hold]
        self._begins(read)
        self._meets(read)
        leaving = self.part.packets.leaving
        if read(self.part.packets.read.valid) and read(self.part.packets.read.ready):
            todo = self.to_read.popleft()
            asked = fields(self.part.packets.read.payload.shape(), read(self.part.packets.read.payload.as_value()))
            assert asked == {"slot": todo["packet"], "length": todo["bytes"]}
            for number, damaged in enumerate(todo["damaged"]):
                self.memory.beats.append((self.wanted(todo, number)[1], damaged))
        if read(leaving.free.valid):
            assert self.n_freed < sum(todo["consume"] for todo, number in self.beats[:self.n_taken]
                                      if (number + 1) * self.flit >= todo["bytes"]), "a packet that is being read"
            self.n_freed += read(leaving.free.ready)
        # A packet is known to be on its way out two cycles after it was consumed.
        if any(cycle < self.cycle - 1 for cycle in self.consumed_at[self.n_freed:]):
            assert read(leaving.freeing) or (read(leaving.free.valid) and read(leaving.free.ready))
        if len(self.consumed_at) == self.n_freed and not read(leaving.free.valid):
            assert not read(leaving.freeing)
        self.cycle += 1

    def _begins(self, read) -> None:
        part, pool = self.part, self.part.packets.leaving.pool
        if not read(part.o_output.valid):
            assert not read(pool.taken)
            return
        assert self.output_ready, "a pass begins and finds no room"
        self.output_ready = 0
        context = read(part.o_output.payload.context)
        todo = next(todo for todo in self.waiting if todo["context"] == context)
        alike = next(one for one in self.waiting if (one["peer"], one["send"]) == (todo["peer"], todo["send"]))
        assert todo is alike, "a pass overtakes one that is alike"
        self.waiting.remove(todo)
        assert read(part.o_output.payload.as_value()) == todo["output"]
        assert read(pool.taken) == todo["consume"]
        self.order.append(todo)
        self.beats += [(todo, number) for number in range(max(1, -(-todo["bytes"] // self.flit)))]
        if todo["use_packet"]:
            self.to_read.append(todo)
        if todo["consume"]:
            assert not self.barred
            credit = fields(credit_notice(), todo["credit"])
            assert (read(pool.consumed.loan), read(pool.consumed.want)) == (credit["loan"], credit["want"])
            self.credits.append({**credit, "loan": read(pool.granted)})
            self.frees.append({"key": todo["key"], "slot": todo["packet"], "n_left": read(pool.n_left)})
            self.consumed_at.append(self.cycle)

    def _meets(self, read) -> None:
        """A pair that goes to the reduce unit, and the pulses beside it."""
        part = self.part
        takes = read(part.o.valid) and read(part.o.ready)
        path = tuple(read(part.activity[name]) for name in ("works", "held", "starved"))
        assert path[0] == takes
        assert sum(path) <= 1
        self.counts["held"] += path[1]
        self.counts["starved"] += path[2]
        release = False
        if takes:
            todo, number = self.beats[self.n_taken]
            self.n_taken += 1
            last = (number + 1) * self.flit >= todo["bytes"]
            release = bool(todo["send"] and (last if self.config.cou.ecc else number == 0))
            damaged = bool(todo["use_packet"] and any(todo["damaged"]))
            if release and self.config.cou.ecc:
                assert read(part.spoilt) == damaged
                self.counts["spoilt"] += damaged
            if last:
                if damaged:
                    self.faults.append({"job": todo["job"], "status": Status.BUFFER_ERROR.value, "detail": 0})
                self.free.add(todo["context"])
                if todo["a"] == Source.OPERAND.value:
                    self.counts["operand"] += 1
            self.beats_at.append(self.cycle)
        assert read(part.o_release) == release
        self._stays(read, takes)

    def _stays(self, read, takes: int) -> None:
        """A pair that waits stays, but for an operand b that nothing uses."""
        shown = None
        if read(self.part.o.valid):
            shown = fields(self.request, read(self.part.o.payload.as_value()))
            if shown["select"] == Select.PASS_A.value:
                del shown["b"]
        assert self.shown in (None, shown), "an offer was taken back, or changed"
        self.shown = None if takes else shown

    def run(self, cycles: int) -> None:
        """Runs, and compares all that has left."""
        part, rng, leaving = self.part, self.rng, self.part.packets.leaving
        self.source = Offers(part.i, rng, self.item)
        self.source.may = lambda: bool(self.free) and self.script != deque()
        self.memory = PacketBeats(part.packets, rng)
        requests, frees, notices, faults, _ = sinks = [
            Takes(port, rng, overtaken=port is part.o)
            for port in (part.o, leaving.free, leaving.credit, part.o_fault, part.packets.read)]
        faults.drive = lambda context: context.set(part.o_fault.ready, rng.random() < 0.15)
        if self.calm:
            self.memory.idle = 0
            for sink in sinks:
                sink.drive = lambda context, sink=sink: context.set(sink.port.ready, 1)
        memories = [OperandMemory(part.operands, self.operand), OperandMemory(part.results, self.result)]
        run(part, [self.source, Inputs(self.drive), self.memory, *memories, *sinks], step=self.step, cycles=cycles,
            levels=(leaving.pool.granted, leaving.pool.n_left), rng=rng)
        assert len(requests.taken) == self.n_taken
        for item, (todo, number) in zip(requests.taken, self.beats, strict=False):
            found, (wanted, b) = fields(self.request, item), self.wanted(todo, number)
            assert b in (None, found.pop("b"))
            found.pop("b", None)
            assert found == wanted
        for sink, shape, wanted in (
            (frees, self.shapes.free, self.frees), (notices, credit_notice(), self.credits),
            (faults, part.o_fault.payload.shape(), self.faults),
        ):
            found = [fields(shape, item) for item in sink.taken]
            assert found == wanted[:len(found)]
            assert len(wanted) - len(found) <= Lane.UNDER_WAY
        self.counts.update(frees=len(frees.taken), faults=len(faults.taken), passes=len(self.order))


@pytest.mark.parametrize("name", CONFIGS)
def test_passes(rng: random.Random, name: str) -> None:
    bench = Bench(CONFIGS[name], rng)
    bench.run(300)
    assert bench.counts["passes"] > 18
    assert min(bench.counts[kind] for kind in ("frees", "held", "starved")) > 5
    assert min(bench.counts[kind] for kind in ("faults", "operand")) > 0


def plain(send: int, *, n_bytes: int, peer: int = 0) -> dict:
    """A pass of zeros."""
    return {"a": 0, "use_packet": 0, "consume": 0, "select": 0, "send": send, "write_back": 0, "bytes": n_bytes,
            "peer": peer}


@pytest.mark.parametrize("crowded", [0, 1])
def test_turns(rng: random.Random, crowded: int) -> None:
    """Of passes that wait those that send go first while there is room for their packets, else the others."""
    first, later = crowded, 1 - crowded
    script = [plain(send, n_bytes=16) for send in (first, first, later, later)]
    bench = Bench(CONFIGS["wide"], rng, script=script, crowded=crowded)
    bench.run(150)
    # The first one was on offer before there was a choice.
    assert [todo["send"] for todo in bench.order] == [first, later, later, first]


def test_beats_follow_each_other(rng: random.Random) -> None:
    """Passes of several beats without a gap, the first one in the fourth cycle of its pass."""
    script = [plain(1, n_bytes=rng.randint(65, 128), peer=k % 3) for k in range(12)]
    bench = Bench(CONFIGS["wide"], rng, script=script, calm=True)
    bench.run(150)
    assert len(bench.order) == 12
    assert bench.beats_at[0] == bench.offered_at[0] + 3
    # At the beginning one pass after the other is offered.
    assert bench.beats_at[20:] == list(range(bench.beats_at[20], bench.beats_at[20] + len(bench.beats_at) - 20))


FAULTS = {
    "a place of the first beat": ("tag.position.eq(here.position)", "tag.position.eq(here.position * here.first)"),
    "the credit without the grant": ("owed.i.payload.loan.eq(leaving.pool.granted)", "owed.i.payload.loan.eq(0)"),
    "a slot that is freed too soon": ("ends.eq(takes & here.last & here.aside.consume)",
                                      "ends.eq(takes & here.first & here.aside.consume)"),
    "damage of a beat before the last one": ("damaged.eq(faulty & ~here.last)", "damaged.eq(0)"),
    "a pass that is barred": ("reader.may_begin.eq(roomy & ~leaving.barred)", "reader.may_begin.eq(roomy)"),
    "a report that finds no room": ("calm.eq(reports.i.ready & ~reports.i.valid)", "calm.eq(1)"),
    "no room for an output": ("roomy.eq(self.o_output.ready & reads.i.ready", "roomy.eq(reads.i.ready"),
    "a header that is released with every pass": ("else here.first) & here.aside.send)", "else here.first))"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "Lane", changed(Lane, *FAULTS[fault]))
    with pytest.raises(AssertionError):
        test_passes(random.Random(1), "wide")


def test_the_wrong_turn_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "Lane", changed(Lane, "waiting.wanted.eq(~self.crowded)", "waiting.wanted.eq(1)"))
    with pytest.raises(AssertionError):
        test_turns(random.Random(1), 1)
