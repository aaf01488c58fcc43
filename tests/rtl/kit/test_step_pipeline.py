# amaranth: UnusedElaboratable=no
"""Registers placed by a table: whatever the table, the same values, as late as it says."""

import itertools
import random

import pytest
from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from rtl.kit.step_pipeline import StepPipeline
from testbench.seed import drawn

STEPS = ("square", "offset", "clip")
TABLES = [table for size in range(4) for table in itertools.combinations(STEPS, size)]


def reference(a: int, b: int) -> int:
    """Result of :class:`Chain`."""
    return min((a * a + b) & 0xFF, 200)


class Chain(wiring.Component):
    """``min(a * a + b, 200)`` in three steps."""

    def __init__(self, cuts, *, stays=False):
        self.cuts, self.stays = cuts, stays
        super().__init__({
            "enable": In(1), "i_valid": In(1), "a": In(4), "b": In(8), "o_valid": Out(1), "o": Out(8), "tag": Out(8),
        })

    def elaborate(self, platform):
        m = Module()
        pipeline = StepPipeline(m, cuts=self.cuts, stays=self.stays, enable=self.enable)
        # What stays is not carried along, so a step may look at the inputs themselves.
        v = pipeline.step("square", square=self.a * self.a, b=self.b)
        v = pipeline.run(
            v, ("offset", lambda v: {"total": (v.square + (self.b if self.stays else v.b))[:8]}),
            ("clip", lambda v: {"o": Mux(v.total > 200, 200, v.total)}),
        )
        pipeline.finish()
        # The simulator's clock wants a register, whatever the table.
        m.d.sync += Signal(name="beside").eq(self.enable)
        m.d.comb += [
            self.o.eq(v.o), self.o_valid.eq(pipeline.follow(self.i_valid, name="valid")),
            self.tag.eq(pipeline.follow(self.b, name="tag", reset=False)),
        ]
        return m


def run(unit, bench):
    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.fixture
def rng():
    return random.Random(drawn())


@pytest.mark.parametrize("cuts", TABLES)
def test_every_table(cuts, rng):
    """One item a cycle; cycles that are not enabled do not count."""
    unit = Chain(cuts)
    came, expected = [], []

    async def bench(ctx):
        for _ in range(600):
            enable, valid, a, b = rng.getrandbits(1), rng.getrandbits(1), rng.getrandbits(4), rng.getrandbits(8)
            for port, value in ((unit.enable, enable), (unit.i_valid, valid), (unit.a, a), (unit.b, b)):
                ctx.set(port, value)
            if enable:
                if valid:
                    expected.append((reference(a, b), b))
                if ctx.get(unit.o_valid):
                    came.append((ctx.get(unit.o), ctx.get(unit.tag)))
                in_flight = len(expected) - len(came)
                assert 0 <= in_flight <= len(cuts)
            await ctx.tick()

    run(unit, bench)
    assert came == expected[:len(came)]
    assert len(came) > 80


@pytest.mark.parametrize("cuts", TABLES)
def test_latency(cuts):
    """As many cycles as there are cuts."""
    unit = Chain(cuts)

    async def bench(ctx):
        for port, value in ((unit.enable, 1), (unit.i_valid, 1), (unit.a, 5), (unit.b, 7)):
            ctx.set(port, value)
        for _ in cuts:
            assert not ctx.get(unit.o_valid)
            await ctx.tick()
        assert ctx.get(unit.o_valid)
        assert ctx.get(unit.o) == reference(5, 7)

    run(unit, bench)


@pytest.mark.parametrize("cuts", TABLES)
def test_inputs_that_stay(cuts, rng):
    """The result stands after as many cycles as there are cuts, and as long as the inputs do."""
    unit = Chain(cuts, stays=True)

    async def bench(ctx):
        ctx.set(unit.enable, 1)
        for _ in range(60):
            a, b = rng.getrandbits(4), rng.getrandbits(8)
            ctx.set(unit.a, a)
            ctx.set(unit.b, b)
            for _ in cuts:
                await ctx.tick()
            for _ in range(rng.randint(1, 3)):
                assert ctx.get(unit.o) == reference(a, b)
                await ctx.tick()

    run(unit, bench)


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("names", [("square",), ("square", "offset"), ("clip",), ()])
def test_cycles(names):
    m = Module()
    pipeline = StepPipeline(m, cuts=("square", "clip"))
    for step in STEPS:
        pipeline.step(step, value=Signal())
    pipeline.finish()
    assert pipeline.cycles(*names) == {(): 2}.get(names, 1)


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("cuts", [("square", "round"), ("round",)])
def test_a_cut_behind_no_step(cuts):
    unit = Chain(cuts)
    with pytest.raises(ValueError, match=r"^cuts must name steps that are taken once, not \['round'\]$"):
        unit.elaborate(None)


def test_a_cut_behind_two_steps():
    m = Module()
    pipeline = StepPipeline(m, cuts=("square",))
    for _ in range(2):
        pipeline.step("square", value=Signal())
    with pytest.raises(ValueError, match=r"^cuts must name steps that are taken once, not \['square'\]$"):
        pipeline.finish()


def test_what_stays_is_not_carried_along():
    """The same signal, not a copy in registers of the next step."""
    m = Module()
    for stays in (False, True):
        pipeline = StepPipeline(m, cuts=("offset",), stays=stays)
        first = pipeline.step("square", square=Signal())
        second = pipeline.step("offset", first, total=Signal())
        assert (second.square is first.square) == stays
