"""Passes that only send: their packets and their ends, whatever the link and the operands do."""

import random
from collections import Counter

import pytest

from firmware_models.config import Config
from rtl.abi import PacketHeader
from rtl.cou.send_engine import SendEngine
from rtl.cou.shapes import CouShapes, Source
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs, OperandMemory, Packets, pack
from testbench.parts.simulation import Offers, Takes, fields, run
from testbench.unit_config import UNIT

CONFIGS = {
    # One context: passes come one after the other. Wide flits: a header of one.
    "narrow": UNIT.changed(datapath={"data_width": 64, "mtu": 64}, cou={
        "n_jobs": 1, "n_contexts": 2, "intermediate_bytes": 128}),
    "wide": UNIT.changed(datapath={"data_width": 256, "mtu": 256}, cou={"n_contexts": 4, "intermediate_bytes": 512}),
}


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


class Bench:
    """One pass of each context at a time. What lies in its memories is only right until its end is reported."""

    def __init__(self, config: Config, rng: random.Random):
        shapes = CouShapes(config)
        self.rng, self.shape = rng, shapes.send
        self.part = SendEngine(shapes=shapes, n_contexts=config.cou.n_contexts)
        self.flit, self.mtu, self.n = config.datapath.flit_bytes, config.datapath.mtu, config.cou.n_contexts
        self.size = config.cou.intermediate_bytes
        self.operands = [rng.randbytes(self.mtu) for _ in range(self.n)]
        self.results = [rng.randbytes(self.size) for _ in range(self.n)]
        self.free = set(range(self.n))
        self.hold = [0] * self.n
        self.number = 0
        self.waiting: dict[int, list[tuple[int, list[int]]]] = {}
        """Packets that are still to come, by peer: header and beats."""
        self.passes = self.done = 0
        self.counts: Counter[object] = Counter()
        self.path: Counter[str] = Counter()

    def item(self) -> int:
        """A pass of a free context."""
        rng, flit = self.rng, self.flit
        context = rng.choice(sorted(self.free))
        self.free.discard(context)
        self.hold[context] = rng.choice((0, 0, 0, 6))
        source, send = rng.choice(list(Source)), int(rng.random() < 0.7)
        n_bytes = min(self.mtu, rng.choice((0, 1, flit - 1, flit, flit + 1, 2 * flit, rng.randint(0, self.mtu))))
        position, peer = rng.randint(0, self.size - n_bytes), rng.randrange(3)
        header = pack(PacketHeader, {
            "peer": peer, "length": n_bytes, "addr": rng.getrandbits(64), "tag": self.number % (1 << 16),
            "job_id": rng.getrandbits(8),
        })
        self.number += 1
        content = {Source.ZERO: bytes(n_bytes), Source.OPERAND: self.operands[context][:n_bytes],
                   Source.RESULT: self.results[context][position:][:n_bytes]}[source]
        if send:
            self.waiting.setdefault(peer, []).append((header, [
                int.from_bytes(content[start:][:flit], "little") for start in range(0, n_bytes, flit)
            ]))
            self.counts[source] += 1
            self.counts["empty" if not n_bytes else "tail" if n_bytes % flit else "whole"] += 1
        else:
            self.counts["nothing"] += 1
        return pack(self.shape, {
            "a": source.value, "context": context, "position": position, "bytes": n_bytes, "send": send,
            "header": header,
        })

    def operand(self, address: int) -> int:
        """A word of the operand memory; one that is being loaded reads as something else."""
        context, beat = divmod(address, self.mtu // self.flit)
        return int.from_bytes(self.operands[context][beat * self.flit:][:self.flit], "little") ^ bool(
            self.hold[context])

    def result(self, address: int) -> int:
        """A word of the intermediate results."""
        context, byte = divmod(address, self.size)
        return int.from_bytes((self.results[context] * 2)[byte:][:self.flit], "little")

    def drive(self, put) -> None:
        """Operands that come some cycles after their pass."""
        put(self.part.filling, sum(bool(hold) << context for context, hold in enumerate(self.hold)))

    def step(self, read) -> None:
        """The end of a pass: its memories are overwritten."""
        self.hold = [max(0, hold - 1) for hold in self.hold]
        done = self.part.o_done
        if read(done.valid) and read(done.ready):
            context = read(done.payload.context)
            assert context not in self.free, "a pass has ended twice"
            self.free.add(context)
            self.operands[context] = self.rng.randbytes(self.mtu)
            self.results[context] = self.rng.randbytes(self.size)
            self.done += 1
        works, held = read(self.part.activity.works), read(self.part.activity.held)
        assert not works & held
        assert not read(self.part.activity.starved)
        self.path.update(works=works, held=held)


@pytest.mark.parametrize(("name", "pause"), [("narrow", 0.3), ("narrow", 0.9), ("wide", 0.4)])
def test_passes(rng: random.Random, name: str, pause: float) -> None:
    """Every packet once and whole, those to one peer in order; every end once."""
    bench = Bench(CONFIGS[name], rng)
    part = bench.part
    source, ends = Offers(part.i, rng, bench.item), Takes(part.o_done, rng)
    source.may = lambda: bool(bench.free)
    packets = Packets(part.tx, rng, flit_bytes=bench.flit)
    packets.pause = pause
    memories = [OperandMemory(part.operands, bench.operand), OperandMemory(part.results, bench.result)]
    run(part, [source, Inputs(bench.drive), *memories, packets, ends], step=bench.step, rng=rng, cycles=400)
    for number, (header, beats) in enumerate(packets.taken):
        queue = bench.waiting[fields(PacketHeader, header)["peer"]]
        assert queue, "a packet that no pass sends"
        wanted, content = queue.pop(0)
        assert header == wanted, "a packet of another pass is due"
        assert beats == content if number + 1 < len(packets.taken) else beats == content[:len(beats)]
    assert bench.done > (10 if pause > 0.5 else 30)
    assert len(packets.taken) > (5 if pause > 0.5 else 20)
    # The ends may be reported before the packets are through the queues of beats and headers.
    assert sum(map(len, bench.waiting.values())) <= bench.n + 12
    kinds = Source if pause > 0.5 else (*Source, "empty", "tail", "whole", "nothing")
    assert min(bench.counts[kind] for kind in kinds) > 0
    assert min(bench.path["works"], bench.path["held"]) > 10


def test_a_header_does_not_wait_for_its_payload(rng: random.Random) -> None:
    """A header two cycles after its pass, although its operand is never there."""
    bench = Bench(CONFIGS["wide"], rng)
    seen: list[int] = []
    state = {"cycle": 0}

    def drive(put) -> None:
        put(bench.part.i.valid, state["cycle"] == 0)
        put(bench.part.i.payload.as_value(), pack(bench.shape, {
            "a": Source.OPERAND.value, "context": 1, "bytes": 40, "send": 1, "header": rng.getrandbits(256)}))
        put(bench.part.filling, 2)

    def step(read) -> None:
        if read(bench.part.tx.header.valid):
            seen.append(state["cycle"])
        assert not read(bench.part.tx.payload.valid)
        state["cycle"] += 1

    run(bench.part, [Inputs(drive)], step=step, rng=rng, cycles=20)
    assert seen == list(range(2, 20))


FAULTS = {
    "bytes beyond the pass are shown": ("data.eq(here.data & mask)", "data.eq(here.data)"),
    "a header is announced twice": ("m.d.sync += announced.eq(1)", "m.d.sync += announced.eq(0)"),
    "an end before the last beat": ("tells = here.aside.payload, here.last", "tells = here.aside.payload, here.first"),
    "an end without room for the beat": (
        "self.o_done.valid.eq(reader.o.valid & tells & (~sends | beats.i.ready))",
        "self.o_done.valid.eq(reader.o.valid & tells)"),
    "a payload of a pass that sends nothing": ("todo.send & (todo.bytes != 0)", "(todo.bytes != 0)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SendEngine", changed(SendEngine, *FAULTS[fault]))
    pause = 0.3 if "twice" in fault else 0.9

    def look() -> None:
        for seed in range(1, 5):
            test_passes(random.Random(seed), "narrow", pause)

    with pytest.raises(AssertionError):
        look()
