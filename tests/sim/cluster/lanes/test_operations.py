# amaranth: UnusedElaboratable=no
"""Every operation of the generator, in every lane, against Amaranth's simulator."""

import functools
import operator
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth import Array, Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rtl.kit.library import shared
from sim.cluster.lanes import generate

WIDTHS = (1, 2, 7, 31, 63, 64, 65, 127, 128, 129, 200)
AMOUNT, MOST_SHIFT = 8, 7


def operations(a: Value, b: Value, c: Value, n: Value) -> Iterator[tuple[str, Value]]:
    """All operations on two values of one width, a bit, and an amount."""
    width = len(a)
    sa, sb = a.as_signed(), b.as_signed()
    yield from (("and", a & b), ("or", a | b), ("xor", a ^ b), ("not", ~a), ("add", a + b), ("sub", a - b))
    yield from (("add_signed", sa + sb), ("sub_signed", sa - sb), ("neg", -a), ("neg_signed", -sa))
    yield from (("add_modulo", (a + b)[:width]), ("sub_modulo", (a - b)[:width]), ("three", a + b + c))
    if width <= 64:
        yield from (("mul", a * b), ("mul_low", (a * b)[:width]))
    if width <= 32:
        yield from (("mul_signed", sa * sb), ("mul_mixed", sa * b))
    yield from (("eq", a == b), ("ne", a != b), ("ult", a < b), ("ule", a <= b), ("ugt", a > b), ("uge", a >= b))
    yield from (("slt", sa < sb), ("sle", sa <= sb), ("sgt", sa > sb), ("sge", sa >= sb), ("mixed", sa < b))
    yield from (("any", a.any()), ("all", a.all()), ("odd", a.xor()), ("bool", a.bool()))
    yield "all_of_or", (a | b).all()
    yield "match", a.matches(*patterns(width))
    yield from (("eq_constant", a == (1 << width) - 2), ("below_constant", a < (1 << width - 1)))
    yield from (("mux", Mux(c, a, b)), ("mux_wide", Mux(a, b, ~b)), ("mux_signed", Mux(c, sa, b)))
    yield from (("mux_zero", Mux(c, a, 0)), ("mux_else_zero", Mux(c, 0, b)), ("mux_ones", Mux(c, -1, sa)))
    yield "array", Array([a, b, ~a, a ^ b, b])[n[:3]]
    yield from (("shl", a << n[:MOST_SHIFT]), ("shl_cut", (a << n[:MOST_SHIFT])[:width]), ("shl_one", a << n[:1]))
    yield from (("shr", a >> n), ("sar", sa >> n), ("shr_far", a >> b), ("sar_far", sa >> b))
    yield from (("narrow_far", n >> b), ("narrow_sar_far", n.as_signed() >> b), ("bits_far", n.bit_select(b, 5)))
    nothing = a[:0]
    yield "nothing", Cat(~nothing, nothing.any(), nothing.all(), nothing + b, nothing * b, nothing == 0, nothing >> n)
    yield from (("shr_constant", a >> 3), ("sar_constant", sa >> 5), ("rotate", a.rotate_left(3)))
    yield "swapped", Cat(a[width // 2:], b[:width // 2], c.replicate(3), a[:width // 2], n)


def patterns(width: int) -> list[str]:
    rng = random.Random(f"patterns {width}")
    def one(fixed: int) -> str:
        text = ["-"] * width
        for at in rng.sample(range(width), min(width, fixed)):
            text[at] = rng.choice("01")
        return "".join(text)
    return [one(2), one(3), one(5), "1" * width]


class Operations(wiring.Component):
    """All operations of some widths: an output for each."""

    def __init__(self, widths: tuple[int, ...]):
        self.widths = widths
        members: dict[str, Any] = {"c": In(1), "n": In(AMOUNT), "ticks": Out(8)}
        for width in widths:
            members |= {f"a{width}": In(width), f"b{width}": In(width)}
            named = operations(Signal(width), Signal(width), Signal(1), Signal(AMOUNT))
            members |= {f"{name}_{width}": Out(len(value)) for name, value in named}
            members |= {f"{name}_{width}": Out(size) for name, size in (
                ("bits", 5), ("words", 3), ("bits_signed", 9), ("words_signed", 4), ("far_bits", width + 3),
                ("steps", width), ("set_bits", width), ("set_words", width), ("cased", width), ("held", width),
                ("summed", width),
            )}
        super().__init__(members)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.sync += self.ticks.eq(self.ticks + 1)
        for width in self.widths:
            m.submodules[f"of_{width}"] = self.of_width(width)
        return m

    def of_width(self, width: int) -> Module:
        m = Module()
        c, n = self.c, self.n
        a, b = getattr(self, f"a{width}"), getattr(self, f"b{width}")

        def out(name: str) -> Any:
            return getattr(self, f"{name}_{width}")

        for name, value in operations(a, b, c, n):
            m.d.comb += out(name).eq(value)
        sa = Signal(signed(width))
        m.d.comb += [
            sa.eq(a), out("bits").eq(a.bit_select(n, 5)), out("words").eq(a.word_select(n, 3)),
            out("bits_signed").eq(sa.bit_select(n, 9)), out("words_signed").eq(sa.word_select(n[:6], 4)),
            out("far_bits").eq(a.bit_select(n, width + 3)),
        ]
        # Later assignments win, of the whole and of parts that overlap, some of them across words.
        steps, third = out("steps"), -(-width // 3)
        m.d.comb += steps.eq(a)
        with m.If(c):
            m.d.comb += steps[:2 * third].eq(b)
        with m.If(n[0]):
            m.d.comb += steps[third:].eq(~b[third:])
        with m.Elif(n[1]):
            m.d.comb += [steps[:third].eq(a >> 1), steps[0].eq(n[2])]
        with m.Else(), m.If(n[3]):
            m.d.comb += steps.eq(-1)
        with m.If(b == a):
            m.d.comb += steps[width - 1].eq(c)
        m.d.comb += [out("set_bits").eq(b), out("set_bits").bit_select(n[:6], 3).eq(a)]
        m.d.comb += [out("set_words").eq(b), out("set_words").word_select(n[:3], -(-width // 4)).eq(a)]
        with m.Switch(n[:4]):
            with m.Case(0, 3, 7):
                m.d.comb += out("cased").eq(a)
            with m.Case("1--0"):
                m.d.comb += out("cased").eq(b + 1)
            with m.Case("-1-1"):
                m.d.comb += out("cased")[:third].eq(b)
            with m.Case(5):
                pass
            with m.Default():
                m.d.comb += out("cased").eq(a + b)
        with m.If(c):
            m.d.sync += out("held").eq(a)
        m.d.sync += out("summed").eq(out("summed") + a - b)
        return m


MEMORIES = {
    "small": (1, 2, 1), "odd": (7, 5, 7), "single": (9, 1, 3), "word": (64, 6, 8), "more": (65, 8, 13),
    "wide": (130, 11, 1), "deep": (31, 100, None),
}
"""Bits and depth of memories, and bits that one enable is for."""


class Memories(wiring.Component):
    """Memories with two write ports, ports that read at once and at the edge, and one that sees what is written."""

    def __init__(self) -> None:
        members: dict[str, Any] = {}
        for name, (width, depth, grain) in MEMORIES.items():
            bits = max(1, (depth - 1).bit_length())
            for port in (0, 1):
                members |= {f"{name}_address{port}": In(bits), f"{name}_data{port}": In(width)}
                members |= {f"{name}_enable{port}": In(width // (grain or width))}
                members |= {f"{name}_read{port}": In(bits), f"{name}_at_once{port}": Out(width)}
            members |= {f"{name}_fetch": In(1), f"{name}_later": Out(width), f"{name}_fresh": Out(width)}
            members |= {f"{name}_half_fresh": Out(width)}
        super().__init__(members)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for name, (width, depth, grain) in MEMORIES.items():
            rng = random.Random(name)
            init = [rng.getrandbits(width) for _ in range(depth // 2 + 1)]
            m.submodules[name] = memory = Memory(shape=unsigned(width), depth=depth, init=init)
            writers = []
            for port in (0, 1):
                writer = memory.write_port(granularity=grain)
                writers.append(writer)
                m.d.comb += [
                    writer.addr.eq(getattr(self, f"{name}_address{port}")),
                    writer.data.eq(getattr(self, f"{name}_data{port}")),
                    writer.en.eq(getattr(self, f"{name}_enable{port}")),
                ]
                reader = memory.read_port(domain="comb")
                m.d.comb += [
                    reader.addr.eq(getattr(self, f"{name}_read{port}")),
                    getattr(self, f"{name}_at_once{port}").eq(reader.data),
                ]
            for out, transparent in (("later", []), ("fresh", writers), ("half_fresh", writers[:1])):
                reader = memory.read_port(transparent_for=transparent)
                m.d.comb += [
                    reader.addr.eq(getattr(self, f"{name}_read0")), reader.en.eq(getattr(self, f"{name}_fetch")),
                    getattr(self, f"{name}_{out}").eq(reader.data),
                ]
        return m


class Shared(wiring.Component):
    """Module that stands in a design several times."""

    def __init__(self, width: int):
        self.width = width
        super().__init__({"a": In(width), "b": In(width), "sum": Out(width), "late": Out(width), "is_less": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        kept = Signal(self.width)
        m.d.sync += [kept.eq(self.sum ^ self.b), self.late.eq(kept)]
        m.d.comb += [self.sum.eq(self.a + self.b), self.is_less.eq(kept < self.a)]
        return m


class Drawn(wiring.Component):
    """A random network: operations in modules within modules, registers, memories, and modules that are shared.

    With `fetches`, some memories are read at the edge.
    """

    def __init__(self, seed: int, *, fetches: bool, n_operations: int = 150):
        self.seed, self.fetches, self.n_operations = seed, fetches, n_operations
        rng = random.Random(f"ports {seed}")
        self.ins = [f"i{n}" for n in range(8)]
        members: dict[str, Any] = {name: In(rng.choice((1, *WIDTHS))) for name in self.ins}
        members |= {f"o{n}": Out(rng.choice(WIDTHS)) for n in range(24)}
        members |= {f"every{n}": Out(200) for n in range(16)}
        super().__init__(members)

    def elaborate(self, platform: Any) -> Module:
        rng = random.Random(f"network {self.seed}")
        m = Module()
        modules = [m]
        for n in range(rng.randint(2, 8)):
            inner = Module()
            rng.choice(modules).submodules[f"within{n}"] = inner
            modules.append(inner)
        pool: list[Signal] = [getattr(self, name) for name in self.ins]
        made: list[Signal] = []
        for n in range(self.n_operations):
            where = rng.choice(modules)
            if n % 40 == 20:
                pool += self._memory(rng, where, pool, n)
            elif n % 25 == 10:
                pool += self._shared(rng, where, pool, platform, n)
            value = self._operation(rng, pool)
            if len(value) > 200 or not len(value):
                value = Cat(value, 0)[:200]
            shape = (signed if rng.random() < 0.3 else unsigned)(len(value))
            to = Signal(shape, init=rng.getrandbits(len(value) - 1 or 1) if len(value) > 1 else 0, name=f"x{n}")
            domain = where.d.sync if rng.random() < 0.3 else where.d.comb
            self._assign(rng, where, domain, to, value, pool)
            pool.append(to)
            made.append(to)
        for n in range(24):
            m.d.comb += getattr(self, f"o{n}").eq(made[-1 - n])
        for n in range(16):
            m.d.comb += getattr(self, f"every{n}").eq(functools.reduce(operator.xor, pool[n::16]))
        return m

    def _assign(self, rng: random.Random, m: Module, domain: Any, to: Signal, value: Value, pool: list[Signal]) -> None:
        kind = rng.randrange(5)
        if kind < 2:
            domain += to.eq(value)
            return
        domain += to.eq(rng.choice(pool))
        with m.If(rng.choice(pool)[0]):
            domain += to.eq(value)
        if kind == 3:
            low = rng.randrange(len(to))
            with m.Switch(Cat(rng.choice(pool), 0, 0)[:2]):
                with m.Case(0):
                    domain += to[low:].eq(rng.choice(pool))
                with m.Case(1, 3):
                    domain += to[:low + 1].eq(~rng.choice(pool))
        elif kind == 4:
            domain += to.bit_select(rng.choice(pool)[:4], rng.randint(1, 9)).eq(rng.choice(pool))

    def _operation(self, rng: random.Random, pool: list[Signal]) -> Value:
        a, b, c, d = (rng.choice(pool) for _ in range(4))
        if rng.random() < 0.2:
            low = rng.randrange(len(b))
            b = b[low:rng.randint(low + 1, len(b))]
        if rng.random() < 0.1:
            b = rng.choice((0, 1, -1, 1 << 64, (1 << 65) - 1))
            return rng.choice((lambda: a + b, lambda: a & b, lambda: a < b, lambda: a == b, lambda: a - b))()
        return rng.choice((
            lambda: a & b, lambda: a | b, lambda: a ^ b, lambda: ~a, lambda: a + b, lambda: a - b, lambda: -a,
            lambda: a[:64].as_unsigned() * b[:64].as_unsigned(), lambda: a[:32] * b[:31].as_signed(),
            lambda: a == b, lambda: a != b, lambda: a < b, lambda: a >= b, lambda: a.any(), lambda: a.all(),
            lambda: a.xor(), lambda: Mux(c[0], a, b), lambda: Mux(c, a, d), lambda: Array([a, b, c, d])[d[:2]],
            lambda: a << b[:5], lambda: a >> b[:8], lambda: a.bit_select(d[:7], 13),
            lambda: a.word_select(d[:3], 5), lambda: Cat(a, b[:3], c[0].replicate(4), d), lambda: a.rotate_right(1),
            lambda: a[len(a) // 2:], lambda: a[0] & c[0] | d[0], lambda: Mux(c[0], a[0], d[0]), lambda: ~a[-1] ^ b[0],
        ))()

    def _memory(self, rng: random.Random, m: Module, pool: list[Signal], n: int) -> list[Signal]:
        width, depth = rng.choice(WIDTHS), rng.choice((3, 4, 9))
        memory = Memory(shape=unsigned(width), depth=depth, init=[rng.getrandbits(width)])
        m.submodules[f"memory{n}"] = memory
        writer = memory.write_port(granularity=1 if rng.random() < 0.3 else None)
        m.d.comb += [port.eq(rng.choice(pool)) for port in (writer.addr, writer.data, writer.en)]
        found = []
        for kind in range(3):
            reader = memory.read_port(
                domain="sync" if kind and self.fetches else "comb",
                transparent_for=[writer] if kind == 2 and self.fetches else [],
            )
            m.d.comb += reader.addr.eq(rng.choice(pool))
            if kind and self.fetches:
                m.d.comb += reader.en.eq(rng.choice(pool))
            found.append(Signal(width, name=f"read{n}_{kind}"))
            m.d.comb += found[-1].eq(reader.data)
        return found

    def _shared(self, rng: random.Random, m: Module, pool: list[Signal], platform: Any, n: int) -> list[Signal]:
        # Instances of one module must not follow each other within a cycle: each stands in one stage.
        follows = rng.random() < 0.5
        width, among = rng.choice((1, 70)), pool if follows else [getattr(self, name) for name in self.ins]
        part = Shared(width)
        m.submodules[f"shared{n}"] = shared(f"shared_{width}" + f"_{n}" * follows, part, platform)
        m.d.comb += [part.a.eq(rng.choice(among)), part.b.eq(rng.choice(among))]
        return [part.sum, part.late, part.is_less]


def check(
    checker: SimpleNamespace, folder: Path, make: Any, *, seed: int, cycles: int, machines: list[tuple[str, int]],
    resets: bool = True,
) -> None:
    """Builds what `make` makes for each of `machines`, and compares all outputs of all lanes in all cycles."""
    stimulus = checker.drawn(make(), seed, cycles=cycles, resets=resets)
    wanted = checker.expected(make(), stimulus)
    rng = random.Random(f"how {seed}")
    how = [rng.randrange(3) for _ in range(cycles)]
    isas = {isa.name: isa for isa in checker.isas}
    n_compared = 0
    for name, lanes in machines:
        if name not in isas:
            continue
        program = checker.built(folder / f"{name}_{lanes}", make(), lanes=lanes, isa=isas[name])
        # A word need not be full.
        n_nodes = lanes - (lanes == 4)
        found, _ = program.run(stimulus, seeds=[0] * n_nodes, how=how)
        assert [len(one) for one in found] == [cycles] * n_nodes
        assert not checker.differences(found, wanted), (name, lanes, seed)
        n_compared += n_nodes * cycles * len(program.outputs)
    print(f"seed {seed}: {n_compared} values of outputs are the same")
    assert n_compared


ALL = [(name, lanes) for name in ("avx512", "avx2", "portable") for lanes in (8, 4, 2, 1)]


def test_operations(checker: SimpleNamespace, tmp_path: Path) -> None:
    machines = [("avx512", 8), ("portable", 4), ("portable", 1)]
    check(checker, tmp_path, lambda: Operations(WIDTHS), seed=1, cycles=48, machines=machines)


def test_memories(checker: SimpleNamespace, tmp_path: Path) -> None:
    machines = [("avx512", 8), ("avx2", 8), ("portable", 1)]
    check(checker, tmp_path, Memories, seed=1, cycles=96, machines=machines, resets=False)


@pytest.mark.parametrize("seed", [1, 2])
def test_networks(seed: int, checker: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_network(seed, [("avx2", 8) if seed % 2 else ("avx512", 1)], checker, tmp_path, monkeypatch)


def check_network(
    seed: int, machines: list[tuple[str, int]], checker: SimpleNamespace, folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A random network in groups of few cells, so that there are many stages and parts."""
    monkeypatch.setattr(generate, "MOST_CELLS", 1 + 40 * (seed % 4))
    fetches = bool(seed % 2)
    check(
        checker, folder, lambda: Drawn(seed, fetches=fetches), seed=seed, cycles=48, machines=machines,
        resets=not fetches,
    )


@pytest.mark.long
@pytest.mark.parametrize("machine", ALL, ids=str)
def test_all_machines(
    machine: tuple[str, int], checker: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in range(10, 13):
        check(checker, tmp_path / f"{seed}", lambda: Operations(WIDTHS), seed=seed, cycles=48, machines=[machine])
    check(checker, tmp_path / "memories", Memories, seed=10, cycles=400, machines=[machine], resets=False)
    for seed in range(10, 16):
        check_network(seed, [machine], checker, tmp_path / f"network{seed}", monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 130))
def test_more_networks(seed: int, checker: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_network(seed, [ALL[seed % len(ALL)]], checker, tmp_path, monkeypatch)
