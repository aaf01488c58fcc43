# amaranth: UnusedElaboratable=no
"""Errors planted into the generator: the comparison with Amaranth's simulator finds every one."""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rtl.kit.library import shared
from sim.cluster.lanes import code, expressions, generate, netlist, parts, tables, used
from sim.cluster.lanes.netlist import Cell

LANES, CYCLES, WIDTH = 4, 64, 150


class Inner(wiring.Component):
    """A module of its own: a sum that is there at once, and a count."""

    i: In(8)
    sum: Out(8)
    count: Out(8)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.sum.eq(self.i + self.count)
        m.d.sync += self.count.eq(self.count + self.i[0])
        return m


class Small(wiring.Component):
    """A few of all operations, in modules that are groups of their own, so that there are parts to be skipped."""

    a: In(WIDTH)
    b: In(WIDTH)
    n: In(8)
    c: In(1)
    address: In(3)
    write_address: In(3)
    enable: In(WIDTH)
    fetch: In(1)

    sum: Out(WIDTH)
    difference: Out(WIDTH)
    left: Out(WIDTH)
    right: Out(WIDTH)
    arithmetic: Out(WIDTH)
    narrow: Out(9)
    flags: Out(6)
    picked: Out(WIDTH)
    steps: Out(WIDTH)
    at_once: Out(WIDTH)
    later: Out(WIDTH)
    fresh: Out(WIDTH)
    held: Out(WIDTH)
    followed: Out(WIDTH)
    inner: Out(8)
    cased: Out(4)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.words = self.words()
        m.submodules.bits = self.bits()
        m.submodules.memory = self.memory()
        m.submodules.state = state = Module()
        m.submodules.follower = follower = Module()
        twice = Signal(WIDTH)
        with state.If(self.c):
            state.d.sync += self.held.eq(self.a)
        state.d.comb += twice.eq(self.held << 1)
        follower.d.comb += self.followed.eq(twice ^ self.held ^ self.b)
        self.instance(m, platform)
        return m

    def words(self) -> Module:
        m = Module()
        a, b, n = self.a, self.b, self.n
        m.d.comb += [
            self.sum.eq(a + b), self.difference.eq(a - b), self.left.eq(a << n[:7]), self.right.eq(a >> n),
            self.arithmetic.eq(a.as_signed() >> n), self.narrow.eq((a + b)[:9] ^ b >> n),
            self.picked.eq(Mux(self.c, a, b)),
        ]
        # What is above the value of a sum must be 0 where the sum is looked at as a whole.
        total = Signal(WIDTH)
        m.d.comb += [total.eq(a + b), self.steps.eq(total)]
        with m.If(self.c):
            m.d.comb += self.steps[3:70].eq(a)
        with m.If(n[0]):
            m.d.comb += self.steps[60:140].eq(b)
        with m.If(n[1]):
            m.d.comb += self.steps[:100].eq(~a)
        m.d.comb += self.flags[0].eq((total >> 64).any() ^ (total == b))
        return m

    def bits(self) -> Module:
        m = Module()
        a, b = self.a, self.b
        m.d.comb += self.flags[1:].eq(Cat(
            a.as_signed() < b.as_signed(), a < b, Mux(self.c, a[0], b[1]), a == b,
            a.matches("-" * (WIDTH - 70) + "1" + "-" * 67 + "01", "1" + "-" * (WIDTH - 3) + "11"),
        ))
        with m.Switch(self.n):
            with m.Case("---1---1", "0000----"):
                m.d.comb += self.cased.eq(1)
            with m.Case("--1-----"):
                m.d.comb += self.cased.eq(6)
            with m.Case("-1------"):
                m.d.comb += self.cased.eq(8)
        return m

    def memory(self) -> Module:
        m = Module()
        m.submodules.words = memory = Memory(shape=unsigned(WIDTH), depth=7, init=[3, 1 << 149])
        writer = memory.write_port(granularity=1)
        at_once = memory.read_port(domain="comb")
        later, fresh = memory.read_port(), memory.read_port(transparent_for=[writer])
        m.d.comb += [
            writer.addr.eq(self.write_address), writer.data.eq(self.a), writer.en.eq(self.enable),
            at_once.addr.eq(self.address), self.at_once.eq(at_once.data),
        ]
        for port, out in ((later, self.later), (fresh, self.fresh)):
            m.d.comb += [port.addr.eq(self.address), port.en.eq(self.fetch), out.eq(port.data)]
        return m

    def instance(self, m: Module, platform: Any) -> None:
        inner, kept = Inner(), Signal(8, init=0x5A)
        m.submodules.inner = shared("inner", inner, platform)
        m.d.comb += [inner.i.eq(self.n ^ kept), self.inner.eq(inner.sum ^ inner.count)]
        m.d.sync += kept.eq(kept + inner.sum)


Plant = Callable[[pytest.MonkeyPatch], Any]
"""Plants an error; what it returns, if anything, says what stands in a file in the place of what."""


def text(name: str, old: str, new: str) -> Plant:
    """An error in a file."""
    return lambda _patch: (name, old, new)


def carry_lost(patch: pytest.MonkeyPatch) -> None:
    right = expressions._carry
    patch.setattr(expressions, "_carry", lambda of, a, b, index: "0u" if index == 1 else right(of, a, b, index))


def carry_not_passed_on(patch: pytest.MonkeyPatch) -> None:
    right = expressions._carry
    patch.setattr(expressions, "_carry", lambda of, a, b, index: right(of, a[64 * index - 64:], b[64 * index - 64:], 1))


def borrow_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(expressions, "_borrow", lambda of, a, b, index: "0u")


def marks_left_out(when: Callable[[str, int], bool]) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        right = code._raised
        patch.setattr(code, "_raised", lambda layout, found, block, *, layout_words: (
            [] if when(block, layout_words) else right(layout, found, block, layout_words=layout_words)
        ))
    return plant


def memory_wakes_nobody(patch: pytest.MonkeyPatch) -> None:
    right = code.write_function
    patch.setattr(generate, "write_function", lambda *args, **named: "\n".join(
        line for line in right(*args, **named).splitlines() if "RAISE" not in line
    ))


def edge_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(code._PartCode, "_due", lambda self: "")


def one_reader_left_out(patch: pytest.MonkeyPatch) -> None:
    right = parts._division

    def wrong(*args: Any) -> parts.Division:
        division = right(*args)
        readers = {number: set(sorted(found)[:-1]) if len(found) > 1 else found
                   for number, found in division.readers.items()}
        return replace(division, readers=readers)
    patch.setattr(parts, "_division", wrong)


def follower_left_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tables, "_followers", lambda *_args: iter(()))


def arms_swapped(patch: pytest.MonkeyPatch) -> None:
    right = expressions.chosen
    patch.setattr(expressions, "chosen", lambda condition, yes, no: right(condition, no, yes))


def arms_of_bits_swapped(patch: pytest.MonkeyPatch) -> None:
    right = expressions._bit_mux
    patch.setitem(expressions._BITS, "mux", lambda of, cell, index: right(
        of, replace(cell, args=(cell.args[0], cell.args[2], cell.args[1])), index,
    ))


def not_cut(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(expressions, "_cut", lambda text, width, index: text)


def off_by_a_word(patch: pytest.MonkeyPatch) -> None:
    right = expressions._at
    patch.setattr(expressions, "_at", lambda words, index: right(words, index + 1))


def operation_taken_for(table: str, op: str, other: str) -> Plant:
    return lambda patch: patch.setitem(getattr(expressions, table), op, getattr(expressions, table)[other])


def first_wins(patch: pytest.MonkeyPatch) -> None:
    right = expressions._choose

    def wrong(of: Any, cell: Cell, index: int) -> str:
        steps = list(zip(cell.args[1::2], cell.args[2::2], strict=True))[::-1]
        args = (cell.args[0], *(value for step in steps for value in step))
        return right(of, replace(cell, args=args, param=cell.param[::-1]), index)
    patch.setitem(expressions._WORDS, "choose", wrong)


def pattern_of_the_first_only(patch: pytest.MonkeyPatch) -> None:
    right = expressions._bit_match
    patch.setitem(expressions._BITS, "match", lambda of, cell, index: right(
        of, replace(cell, param=cell.param[:1]), index,
    ))


def not_transparent(patch: pytest.MonkeyPatch) -> None:
    right = netlist._Lowering._sync_read

    def wrong(self: Any, number: int, cell: Any) -> None:
        cell = copy.copy(cell)
        cell.transparent_for = ()
        right(self, number, cell)
    patch.setattr(netlist._Lowering, "_sync_read", wrong)


def start_lost(is_random: bool) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        right = tables._starts
        patch.setattr(tables, "_starts", lambda *args: [
            row for row in right(*args) if (row.split(",")[2].strip() != "0") != is_random
        ])
    return plant


def cut_too_narrow(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(used, "_NARROWED", used._NARROWED | {"shr"})


def looked_at_too_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parts._Stages, "_move", staticmethod(lambda *_args: False))


PLANTED: dict[str, Plant] = {
    "carry lost": carry_lost,
    "carry not passed on": carry_not_passed_on,
    "borrow lost": borrow_lost,
    "read of another lane's address": text(
        "lanes.h", "memory[(LANE(address, n) * words + index) * LANES + n];\n    return",
        "memory[(LANE(address, n ^ 1) % depth * words + index) * LANES + n];\n    return",
    ),
    "write to another lane's address": text(
        "lanes.h", "word = memory[(LANE(address, n)", "word = memory[(LANE(address, n ^ 1) % depth",
    ),
    "write beyond the end": text("lanes.h", "if (LANE(address, n) >= depth) continue;", "LANE(address, n) %= depth;"),
    "read beyond the end": text("lanes.h", "&& LANE(address, n) < depth", "&& (LANE(address, n) %= depth, true)"),
    "read enable inverted": text("lanes.h", "if (on >> n & 1 &&", "if (!(on >> n & 1) &&"),
    "bit enables ignored": text(
        "lanes.h", "(word & ~LANE(bits, n)) | (LANE(data, n) & LANE(bits, n))", "LANE(data, n)",
    ),
    "readers within a cycle not marked": marks_left_out(lambda block, words: block == "b" and not words),
    "readers in the next cycle not marked": marks_left_out(lambda block, words: words > 0),
    "readers in an instance not marked": marks_left_out(lambda block, _words: block != "b"),
    "one reader of several not marked": one_reader_left_out,
    "followers of an instance not marked": follower_left_out,
    "a memory that is written wakes nobody": memory_wakes_nobody,
    "an edge with work left out": edge_forgotten,
    "change in the first word only": text("lanes.h", "difference |= WORDS_OF(block, old) ^ (v);", ""),
    "mux arms swapped": arms_swapped,
    "mux arms of bits swapped": arms_of_bits_swapped,
    "bits above a sum": not_cut,
    "shift off by a word": off_by_a_word,
    "signed taken for unsigned": operation_taken_for("_BITS", "slt", "ult"),
    "sign not shifted in": operation_taken_for("_WORDS", "sar", "shr"),
    "the first assignment wins": first_wins,
    "one pattern of several": pattern_of_the_first_only,
    "a port that is not transparent": not_transparent,
    "first value lost": start_lost(is_random=False),
    "random first value lost": start_lost(is_random=True),
    "a value cut that is shifted down": cut_too_narrow,
    "an instance looked at too early": looked_at_too_early,
}


@pytest.fixture(scope="module")
def wanted(checker: SimpleNamespace) -> tuple[Any, Any]:
    """Inputs and outputs."""
    stimulus = checker.drawn(Small(), 7, cycles=CYCLES, resets=False)
    return stimulus, checker.expected(Small(), stimulus)


def found_by(checker: SimpleNamespace, folder: Path, wanted: tuple[Any, Any], change: Any = None) -> list[str]:
    """Lists the differences that the comparison finds."""
    stimulus, outputs = wanted
    named = {"change": change} if change else {}
    program = checker.built(folder, Small(), lanes=LANES, isa=checker.isas[-1], **named)
    found, _ = program.run(stimulus, seeds=[0] * LANES, how=[cycle % 3 for cycle in range(CYCLES)])
    wrong: list[str] = checker.differences(found, outputs)
    # What begins with random values differs from lane to lane.
    begun, _ = program.run(stimulus, seeds=range(1, LANES + 1), how=[0])
    if len({node[0]["later"] for node in begun}) < LANES:
        wrong.append("random first values are the same in several lanes")
    return wrong


@pytest.fixture(autouse=True)
def many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every module is a group of its own, and every group has several parts."""
    monkeypatch.setattr(generate, "MOST_CELLS", 1)
    monkeypatch.setattr(parts, "LEAST_CELLS", 1)


def test_nothing_planted(checker: SimpleNamespace, wanted: Any, tmp_path: Path) -> None:
    assert not found_by(checker, tmp_path, wanted)


@pytest.mark.parametrize("name", PLANTED)
def test_planted(
    name: str, checker: SimpleNamespace, wanted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    replaced = PLANTED[name](monkeypatch)
    wrong = found_by(checker, tmp_path, wanted, checker.planted(*replaced) if replaced else None)
    print(f"{name}: {wrong}")
    assert wrong
