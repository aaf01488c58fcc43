# amaranth: UnusedElaboratable=no
"""Netlists on their way to code: what is refused, what is cut, what is left out, and the order of parts."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth import ClockDomain, ClockSignal, Instance, Module, Mux, Signal
from amaranth.hdl import IOPort
from amaranth.lib import io, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.config import Config, load_preset
from rtl.kit.library import shared
from rtl.simulation import simulated
from sim.cluster.lanes import code, parts
from sim.cluster.lanes.generate import modules_of
from sim.cluster.lanes.loops import without_loops
from sim.cluster.lanes.netlist import NetlistError, netlists
from sim.cluster.lanes.simplify import simplified


class Built(wiring.Component):
    """A component that is what a function makes of its ports."""

    def __init__(self, members: dict[str, Any], build: Callable[[Any, Module, Any], None]):
        self.build = build
        super().__init__(members)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        self.build(self, m, platform)
        return m


BYTE = {"a": In(8), "b": In(8), "o": Out(8)}


def modules(build: Callable[[Any, Module, Any], None], members: dict[str, Any] | None = None) -> dict[str, code.Module]:
    return modules_of("top", Built(members or BYTE, build), lanes=1)


# Loops.

def test_a_loop_is_an_error_that_names_the_modules() -> None:
    def build(ports: Any, m: Module, _platform: Any) -> None:
        m.submodules.left, m.submodules.right = left, right = Module(), Module()
        there, back = Signal(8), Signal(8)
        left.d.comb += there.eq(back + ports.a)
        right.d.comb += back.eq(there ^ ports.b)
        m.d.comb += ports.o.eq(there)

    with pytest.raises(NetlistError, match=r"^a loop through \d+ operations in left, right: a value follows itself$"):
        modules(build)


def test_a_loop_in_the_top() -> None:
    def build(ports: Any, m: Module, _platform: Any) -> None:
        there = Signal()
        with m.If(ports.a[0]):
            m.d.comb += there.eq(~there)
        m.d.comb += ports.o.eq(there)

    with pytest.raises(NetlistError, match=r"^a loop through \d+ operations in top: a value follows itself$"):
        modules(build)


class Through(wiring.Component):
    """Its output follows its input."""

    i: In(8)
    o: Out(8)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.deep = deep = Module()
        deep.d.comb += self.o.eq(self.i + 1)
        return m


def test_a_loop_through_instances_names_one() -> None:
    def build(ports: Any, m: Module, platform: Any) -> None:
        one, other = Through(), Through()
        m.submodules.one = shared("one", one, platform)
        m.submodules.other = shared("other", other, platform)
        m.d.comb += [one.i.eq(other.o ^ ports.a), other.i.eq(one.o), ports.o.eq(one.o)]

    with pytest.raises(NetlistError, match=r"^a loop through modules around (one|other|top)(\.\w+)*$"):
        modules(build)


def test_instances_of_one_module_must_not_follow_each_other() -> None:
    """No loop, but one to the generator: all instances of a module have the same stages."""
    def build(ports: Any, m: Module, platform: Any) -> None:
        one, other = Through(), Through()
        m.submodules.one, m.submodules.other = shared("same", one, platform), shared("same", other, platform)
        m.d.comb += [one.i.eq(ports.a), other.i.eq(one.o), ports.o.eq(other.o)]

    with pytest.raises(NetlistError, match=r"^a loop through modules around "):
        modules(build)


def chain(ports: Any, m: Module, _platform: Any) -> None:
    """Between values there is a loop, between bits there is none: each bit of `ripple` follows the one before."""
    ripple, half, other = Signal(9), Signal(8), Signal(8)
    for bit in range(8):
        m.d.comb += ripple[bit + 1].eq(ripple[bit] & ports.a[bit] | ports.b[bit])
    m.d.comb += ripple[0].eq(ports.b[7])
    # Halves of two values follow each other crosswise.
    m.d.comb += [half[:4].eq(ports.a[:4] + ports.b[:4]), half[4:].eq(other[:4] ^ ports.b[4:])]
    m.d.comb += other.eq(Mux(ports.b[0], half << 4 | half >> 2 & 3, ports.a))
    whole = Signal(8)
    m.d.comb += whole.eq(ports.a)
    with m.If(ports.a[0] ^ ports.b[3]):
        m.d.comb += whole[4:].eq(~whole[:4])
    with m.If(ports.b[2]):
        m.d.comb += whole[:2].eq(ports.b[:2])
    count = Signal(8, init=3)
    m.d.sync += count.eq(count + ripple[8])
    m.d.comb += ports.o.eq(ripple[1:] ^ half ^ whole ^ count)


def test_what_is_a_loop_between_values_only_is_cut(checker: SimpleNamespace, tmp_path: Path) -> None:
    found = netlists("top", Built(BYTE, chain))["top"]
    before = len(found.cells)
    without_loops(found)
    assert len(found.cells) > before + 8
    stimulus = checker.drawn(Built(BYTE, chain), 3, cycles=200)
    program = checker.built(tmp_path, Built(BYTE, chain), lanes=8, isa=checker.isas[-1])
    outputs, _ = program.run(stimulus, seeds=[0] * 8, how=[1] * 200)
    assert not checker.differences(outputs, checker.expected(Built(BYTE, chain), stimulus))


# What is refused.

def negedge(ports: Any, m: Module, _platform: Any) -> None:
    m.domains.falling = domain = ClockDomain(clk_edge="neg")
    m.d.comb += [domain.clk.eq(ClockSignal()), domain.rst.eq(0)]
    m.d.falling += ports.o.eq(ports.a)
    m.d.sync += Signal().eq(1)


def another_clock(ports: Any, m: Module, _platform: Any) -> None:
    m.domains.other = domain = ClockDomain(reset_less=True)
    m.d.comb += domain.clk.eq(ports.b[0])
    m.d.other += ports.o.eq(ports.a)


def gated_clock_of_a_memory(ports: Any, m: Module, _platform: Any) -> None:
    from amaranth.lib.memory import Memory
    m.domains.other = domain = ClockDomain(reset_less=True)
    m.submodules.memory = memory = Memory(shape=8, depth=4, init=[])
    writer, reader = memory.write_port(domain="other"), memory.read_port(domain="comb")
    m.d.comb += [
        domain.clk.eq(ports.b[0]), writer.addr.eq(ports.a), writer.data.eq(ports.a), writer.en.eq(1),
        reader.addr.eq(ports.a), ports.o.eq(reader.data),
    ]


def asynchronous_reset(ports: Any, m: Module, _platform: Any) -> None:
    m.domains.sync = domain = ClockDomain(async_reset=True)
    m.d.comb += [domain.clk.eq(ports.clk), domain.rst.eq(ports.b[0])]
    m.d.sync += ports.o.eq(ports.a)


def division(ports: Any, m: Module, _platform: Any) -> None:
    m.d.comb += ports.o.eq(ports.a // ports.b)


def remainder(ports: Any, m: Module, _platform: Any) -> None:
    m.d.comb += ports.o.eq(ports.a.as_signed() % ports.b.as_signed())


def buffer(ports: Any, m: Module, _platform: Any) -> None:
    m.submodules.buffer = one = io.Buffer("o", io.SingleEndedPort(IOPort(1, name="pad")))
    m.d.comb += one.o.eq(ports.a[0])


@pytest.mark.parametrize(("build", "message"), [
    (negedge, "a register with a clock of its own: the generator knows one, and its rising edge"),
    (another_clock, "a register with a clock of its own: the generator knows one, and its rising edge"),
    (gated_clock_of_a_memory, "a register with a clock of its own: the generator knows one, and its rising edge"),
    (asynchronous_reset, "a register with an asynchronous reset: the generator knows none"),
    (division, "operator u//: the generator knows none"),
    (remainder, "operator s%: the generator knows none"),
    (buffer, "a cell IOBuffer: the generator knows none"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_what_the_generator_does_not_know_is_refused(build: Any, message: str) -> None:
    members = BYTE | ({"clk": In(1)} if build is asynchronous_reset else {})
    with pytest.raises(NetlistError) as raised:
        modules(build, members)
    assert str(raised.value) == message


def test_long_products_are_refused() -> None:
    def build(ports: Any, m: Module, _platform: Any) -> None:
        m.d.comb += ports.o.eq(ports.a * ports.b)

    members = {"a": In(65), "b": In(64), "o": Out(129)}
    made = modules(build, members)
    with pytest.raises(NetlistError, match=r"^a product of 129 bits: the generator knows those of two values of 64$"):
        code.part_function(made, "top", 0, lanes=1)


def test_modules_of_others_are_refused() -> None:
    """An instance whose module the design does not have."""
    def build(ports: Any, m: Module, _platform: Any) -> None:
        m.submodules.strange = Instance("strange", i_a=ports.a, o_o=ports.o)

    with pytest.raises(NetlistError, match=r"^an instance of strange, which is no module of the design$"):
        modules(build)


# What is left out.

def test_registers_that_nothing_follows_are_left_out() -> None:
    def build(ports: Any, m: Module, _platform: Any) -> None:
        used, dead, wide = (Signal(8, name=name) for name in ("used", "dead", "wide"))
        m.d.sync += [used.eq(used + ports.a), dead.eq(dead + ports.b), wide.eq(ports.a)]
        m.d.comb += ports.o.eq(used + wide[2:4])

    netlist = modules(build)["top"].netlist
    assert set(netlist.names) == {"used", "wide"}
    assert sorted(netlist.names["wide"]) == [2, 3]
    assert sorted(netlist.names["used"]) == list(range(8))
    assert len(list(netlist.of("ff"))) == 2


def test_what_keeps_registers() -> None:
    """Assertions, memories and instances follow registers as outputs do."""
    def build(ports: Any, m: Module, platform: Any) -> None:
        from amaranth.hdl import Assert
        checked, passed = (Signal(8, name=name) for name in ("checked", "passed"))
        inner = Through()
        m.submodules.inner = shared("inner", inner, platform)
        m.d.sync += [checked.eq(ports.a), passed.eq(ports.b), Assert(checked != 7, "seven")]
        m.d.comb += [inner.i.eq(passed), ports.o.eq(inner.o)]

    made = modules(build)
    assert set(made["top"].netlist.names) >= {"checked", "passed"}
    assert [cell.param for _, cell in made["top"].netlist.of("assert")] == ["seven"]


def test_constants_are_folded() -> None:
    def build(ports: Any, m: Module, _platform: Any) -> None:
        three, none = Signal(8), Signal(8)
        m.d.comb += [three.eq(3), none.eq(ports.a & 0)]
        m.d.comb += ports.o.eq(Mux(three == 3, (ports.a | none) ^ (three >> 8), ports.a * ports.b))

    netlist = modules(build)["top"].netlist
    operations = [cell.op for cell in netlist.cells if cell.op not in ("none", "input", "output")]
    assert operations == []
    (_, output), = netlist.of("output")
    (number, _), = ((number, cell) for number, cell in netlist.of("input") if cell.param == "a")
    assert output.args == (tuple(range(number << 16, (number << 16) + 8)),)


def test_doubles_are_one() -> None:
    def build(ports: Any, m: Module, _platform: Any) -> None:
        one, other = Signal(8), Signal(8)
        m.d.comb += [one.eq(ports.a + ports.b), other.eq(ports.a + ports.b), ports.o.eq(one & other << 1)]

    netlist = modules(build)["top"].netlist
    assert len(list(netlist.of("add"))) == 1


def test_simplified_twice_is_simplified_once() -> None:
    """Nothing is left that the rules could take out: registers keep their names."""
    boundary, _ = simulated("switch", load_preset("small"))
    for found in netlists("switch", boundary).values():
        without_loops(found)
        once = simplified(found)
        twice = simplified(once)
        assert set(twice.names) == set(once.names)
        assert len(twice.cells) <= len(once.cells)


# Order.

@pytest.mark.parametrize("top", ["switch", "nic"])
def test_parts_follow_what_was_evaluated_before(top: str, small: Config) -> None:
    check_order(modules_of(top, simulated(top, small)[0], lanes=8))


@pytest.mark.parametrize("least", [1, 10_000])
def test_parts_of_another_size(least: int, monkeypatch: pytest.MonkeyPatch, small: Config) -> None:
    monkeypatch.setattr(parts, "LEAST_CELLS", least)
    check_order(modules_of("switch", simulated("switch", small)[0], lanes=8))


def check_order(made: dict[str, code.Module]) -> None:
    """Whatever a part reads is of an earlier stage, of the same part and before it, a register, or an input; and inputs
    of instances come, outputs go, in stages that fit those of the module around.
    """
    arrival: dict[tuple[str, str], int] = {}
    n_read = 0
    for name, module in made.items():
        for part in module.division.parts:
            for number in part.cells:
                cell = module.netlist.cells[number]
                if cell.op == "output":
                    arrival[name, cell.param] = part.stage
    for module in made.values():
        cells, division = module.netlist.cells, module.division
        seen: list[int] = []
        for index, part in enumerate(division.parts):
            seen += [*part.cells, *part.registers]
            known = set()
            for number in (*part.cells, *part.registers):
                assert division.part_of[number] == index
                for before in {net >> 16 for value in cells[number].args for net in value} - {0}:
                    n_read += 1
                    op = cells[before].op
                    if op in ("ff", "input"):
                        assert index in division.readers[before]
                    elif op == "part_out":
                        instance, port = cells[before].param
                        assert arrival[module.netlist.instances[instance].kind, port] < part.stage
                        assert index in division.readers[before]
                    elif division.part_of[before] == index:
                        assert before in known
                    else:
                        assert division.parts[division.part_of[before]].stage < part.stage
                        assert index in division.readers[before]
                if cells[number].op == "read":
                    assert index in division.memory_readers[cells[number].param]
                if cells[number].op == "part_in":
                    check_input(made, module, cells[number], part.stage)
                known.add(number)
        # Every cell has one place.
        assert sorted(seen) == [n for n, cell in enumerate(cells) if cell.op not in ("none", "input", "part_out")]
    assert n_read > 1000


def check_input(made: dict[str, code.Module], module: code.Module, cell: Any, stage: int) -> None:
    """Whoever reads the input of an instance comes later."""
    instance, port = cell.param
    inner = made[module.netlist.instances[instance].kind]
    for number, one in inner.netlist.of("input"):
        if one.param == port:
            for reader in inner.division.readers.get(number, set()):
                assert inner.division.parts[reader].stage > stage
