"""Beats of operands: of both memories and zeros, of passes of any length, whatever they wait for."""

import random
from collections import Counter

import pytest

from firmware_models.config import Config
from rtl.cou.operand_reader import OperandReader, operand_layout, read_layout
from rtl.cou.shapes import CouShapes, Source
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs, OperandMemory, pack
from testbench.parts.simulation import Offers, Takes, fields, run
from testbench.unit_config import UNIT

ASIDE = 5
CONFIGS = {
    "narrow": UNIT.changed(datapath={"data_width": 64, "mtu": 64}, cou={
        "n_jobs": 1, "n_contexts": 1, "intermediate_bytes": 64}),
    "wide": UNIT.changed(datapath={"data_width": 128, "mtu": 256}, cou={"n_contexts": 4, "intermediate_bytes": 1024}),
}


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


class Bench:
    """Passes, the memories that they read, and the beats that each must become."""

    def __init__(self, config: Config, rng: random.Random, *, calm: bool = False):
        self.config, self.rng, self.calm = config, rng, calm
        self.shapes = CouShapes(config)
        self.part = OperandReader(shapes=self.shapes, n_contexts=config.cou.n_contexts, aside=ASIDE)
        self.flit, self.size = config.datapath.flit_bytes, config.cou.intermediate_bytes
        self.mtu, self.n = config.datapath.mtu, config.cou.n_contexts
        self.shape = read_layout(self.shapes, ASIDE)
        self.memory = {name: [rng.randbytes(size) for _ in range(self.n)]
                       for name, size in (("operands", self.mtu), ("results", self.size))}
        self.filling, self.hold = 0, 0
        self.may_begin, self.begun, self.n_begun, self.n_first = 0, False, 0, 0
        self.counts: Counter[object] = Counter()
        self.cycle, self.offered_at, self.beats_at = 0, [], []

    def item(self) -> int:
        """A pass: lengths about those of a beat, positions at any byte."""
        rng, flit = self.rng, self.flit
        source = rng.choice(list(Source))
        most = self.mtu if source is Source.OPERAND else self.size
        lengths = (0, 1, flit - 1, flit, flit + 1, 2 * flit, rng.randint(0, min(most, 6 * flit)))
        n_bytes = most if rng.random() < 0.05 else min(most, rng.choice(lengths))
        context = rng.randrange(self.n)
        self.hold = 0 if self.calm else rng.choice((0, 0, 4, 12))
        self.offered_at.append(self.cycle)
        return pack(self.shape, {
            "a": source.value, "context": context, "position": rng.randint(0, self.size - n_bytes), "bytes": n_bytes,
            "single": n_bytes <= flit, "aside": rng.getrandbits(ASIDE),
        })

    def beats(self, item: int) -> list[dict[str, int]]:
        """Beats of a pass."""
        todo, flit = fields(self.shape, item), self.flit
        n_beats = max(1, -(-todo["bytes"] // flit))
        content = bytes(n_beats * flit)
        if todo["a"] == Source.OPERAND.value:
            content = self.memory["operands"][todo["context"]]
        elif todo["a"] == Source.RESULT.value:
            content = self.memory["results"][todo["context"]] * 2
            content = content[todo["position"]:]
        return [{
            "data": int.from_bytes(content[k * flit:][:flit], "little"), "first": k == 0, "last": k + 1 == n_beats,
            "odd": k % 2, "empty": todo["bytes"] == 0, "position": (todo["position"] + k * flit) % self.size,
            "aside": todo["aside"],
        } for k in range(n_beats)]

    def word(self, name: str, address: int) -> int:
        """A word of a memory; an operand that is not there yet is read as something else."""
        if name == "operands":
            beats = self.mtu // self.flit
            context, beat = divmod(address, beats) if self.n > 1 or address < beats else (0, 0)
            right = int.from_bytes(self.memory[name][context][beat * self.flit:][:self.flit], "little")
            return right ^ (self.filling >> context & 1)
        context, byte = divmod(address, self.size)
        return int.from_bytes((self.memory[name][context % self.n] * 2)[byte:][:self.flit], "little")

    def drive(self, put) -> None:
        """Levels: the operand of the pass on offer comes after some cycles and stays."""
        self.may_begin = int(self.calm or self.rng.random() < 0.7)
        put(self.part.may_begin, self.may_begin)
        others = 0 if self.calm else self.rng.getrandbits(self.n)
        offered = self.source.offered
        if offered is not None:
            own = 1 << fields(self.shape, offered)["context"]
            self.filling = others & ~own | (own if self.hold else 0)
            self.hold = max(0, self.hold - 1)
        put(self.part.filling, self.filling)

    def step(self, read) -> None:
        """A pass begins once, as soon as it may; none of its beats has come out before."""
        offered, self.was_begun = self.source.offered is not None, self.begun
        assert read(self.part.begins) == (offered and not self.begun and self.may_begin)
        self.begun |= bool(read(self.part.begins))
        self.n_begun += read(self.part.begins)
        if self.was_begun and self._goes_on(read):
            assert read(self.part.i.ready), "a pass that has begun waits"
            self.counts["begun before"] += not self.may_begin
        if offered and read(self.part.i.ready):
            assert self.begun
            self.begun = False
        if read(self.part.o.valid):
            assert self.n_first + read(self.part.o.payload.first) <= self.n_begun
            if read(self.part.o.ready):
                self.beats_at.append(self.cycle)
                self.n_first += read(self.part.o.payload.first)
        self.cycle += 1

    def _goes_on(self, read) -> bool:
        """True if nothing holds the one beat of the pass on offer: neither its operand nor a beat before it."""
        todo = fields(self.shape, self.source.offered)
        there = todo["a"] != Source.OPERAND.value or not self.filling >> todo["context"] & 1
        return bool(todo["single"] and there and (read(self.part.o.ready) or not read(self.part.o.valid)))

    def run(self, cycles: int, source: Offers, sink: Takes) -> None:
        """Runs, and compares all beats."""
        self.source, self.sink = source, sink
        self.out = operand_layout(self.shapes, ASIDE)
        memories = [OperandMemory(getattr(self.part, name), lambda address, name=name: self.word(name, address))
                    for name in ("operands", "results")]
        run(self.part, [source, Inputs(self.drive), *memories, sink], step=self.step, cycles=cycles, rng=self.rng)
        found = [fields(self.out, item) for item in sink.taken]
        wanted = [beat for item in source.taken for beat in self.beats(item)]
        assert len(wanted) - len(found) <= 3, "beats are lost"
        wanted += self.beats(source.offered) if source.offered is not None else []
        assert found == wanted[:len(found)]
        for item in source.taken:
            todo = fields(self.shape, item)
            self.counts[Source(todo["a"])] += 1
            self.counts["empty" if not todo["bytes"] else "single" if todo["single"] else "several"] += 1


@pytest.mark.parametrize("name", CONFIGS)
def test_passes(rng: random.Random, name: str) -> None:
    bench = Bench(CONFIGS[name], rng)
    bench.run(700, Offers(bench.part.i, rng, bench.item), Takes(bench.part.o, rng))
    assert min(bench.counts[kind] for kind in (*Source, "empty", "single", "several")) > 3
    assert bench.counts["begun before"] > 0


class Steady(Takes):
    """Takes whatever is offered."""

    def drive(self, context) -> None:
        context.set(self.port.ready, 1)


class Gapless(Offers):
    """Offers a pass in every cycle."""

    def drive(self, context) -> None:
        self.offered = self.item() if self.offered is None else self.offered
        super().drive(context)


def test_beats_follow_each_other(rng: random.Random) -> None:
    """A beat in every cycle across passes, the first one in the third cycle of its pass."""
    bench = Bench(CONFIGS["narrow"], rng, calm=True)
    bench.run(150, Gapless(bench.part.i, rng, bench.item), Steady(bench.part.o, rng))
    assert bench.beats_at == list(range(bench.offered_at[0] + 2, 150))


FAULTS = {
    "the place of the first beat": ("behind.eq(position + self.shapes", "behind.eq(todo.position + self.shapes"),
    "the last beat is known too late": ("final.eq((index + 2) << flit_log2", "final.eq((index + 1) << flit_log2"),
    "an operand that is not there": ("(begun | self.may_begin) & here", "(begun | self.may_begin)"),
    "a pass that begins twice": ("(begun | self.may_begin) & here", "self.may_begin & here"),
    "a pass begins again": ("with m.Elif(self.begins):", "with m.Elif(0):"),
    "a word is lost while the next part waits": ("to_there.eq(~there_valid | self.o.ready)", "to_there.eq(1)"),
    "the result of another context": ("Cat(position, todo.context)", "Cat(position, todo.context ^ todo.aside[0])"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "OperandReader", changed(OperandReader, *FAULTS[fault]))
    with pytest.raises(AssertionError):
        test_passes(random.Random(1), "wide")
