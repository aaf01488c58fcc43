# amaranth: UnusedElaboratable=no
"""The golden model behind the boundary of an offload unit: against itself, against the RTL, and planted errors."""

import random
from collections.abc import Iterable
from functools import partial

import pytest
from amaranth import Module, Signal
from amaranth.sim import Simulator

from rtl.cou.job_reporter import JobReporter
from rtl.cou.offload_unit import OffloadUnit
from rtl.cou.operation_table import OperationTable
from rtl.cou.pass_planner import PassPlanner
from rtl.credit.credit_return import CreditReturn
from testbench.offload_unit.pair import Pair
from testbench.offload_unit.programs import Author
from testbench.offload_unit.record import NotCoveredError, Packet
from testbench.offload_unit.scenarios import FIRST_JOB, SCENARIOS
from testbench.offload_unit.stand_in import UnitStandIn
from testbench.offload_unit.unit_model import UnitModel
from testbench.parts.faults import changed
from testbench.runner import run_bench
from testbench.unit_config import TINY, UNIT

WIDE = {
    "datapath": {"data_width": 64, "mtu": 256},
    "cou": {"n_jobs": 4, "n_contexts": 8, "sequence_depth": 8, "n_peers": 4, "peer_credits": 3, "buffer_bytes": 16384,
            "lending": True, "ecc": True, "buffer_mode": "cuckoo"},
    "nic": {"address_bits": 64},
}
"""The first configuration of the bench of the whole unit, whose build it shares."""
NARROW = {
    "datapath": {"data_width": 256, "mtu": 256},
    "cou": WIDE["cou"] | {"n_peers": 8, "peer_credits": 2, "buffer_bytes": 32768, "lending": False, "ecc": False},
    "nic": {"address_bits": 64},
}
_CONFIGS = {"tiny": TINY, "wide": UNIT.changed(**WIDE), "no pool": UNIT.changed(**NARROW)}


_SHORT = {
    ("random programs", "wide"), ("errors", "wide"), ("closed jobs", "wide"), ("duplicates", "wide"),
    ("errors", "tiny"), ("random programs", "no pool"),
}


@pytest.mark.parametrize(("scenario", "config", "seed"), [
    pytest.param(scenario, config, seed, marks=() if seed == 1 and (scenario, config) in _SHORT else pytest.mark.long)
    for scenario in SCENARIOS for config in _CONFIGS for seed in range(1, 10)
])
def test_two_models(scenario: str, config: str, seed: int) -> None:
    """Two models back to back: each is checked by what passes its boundary."""
    built, rng = _CONFIGS[config], random.Random(seed)
    pair = SCENARIOS[scenario]([UnitStandIn(built, rng) for _ in range(2)], built, rng, 2)
    pair.run(cycles=20_000)
    assert pair.is_idle


@pytest.mark.parametrize(("config", "names", "conversations"), [
    (WIDE, ("random programs",), 4),
    *(pytest.param(config, tuple(SCENARIOS), 12, marks=pytest.mark.long) for config in (WIDE, NARROW)),
])
def test_model_beside_rtl(config: dict[str, dict[str, object]], names: tuple[str, ...], conversations: int) -> None:
    """A RTL unit back to back with a model: what passes either boundary is what the model allows."""
    result = run_bench(
        partial(OffloadUnit, UNIT.changed(**config)), bench="testbench.offload_unit.pair_bench",
        parameters={"config": config, "scenarios": names, "conversations": conversations},
    )
    assert set(result.report) == set(names)
    assert min(result.report["random programs"]) == conversations


def test_stand_in_in_the_simulator() -> None:
    """A stand-in that plays by itself, as a bench of a NIC or a switch holds it, takes a probe and answers it."""
    unit = UnitStandIn(TINY, random.Random(1))
    sequence, answers = unit.commands.sequence, []

    async def bench(context) -> None:
        context.set(sequence.answer.ready, 1)
        context.set(sequence.probe.payload.job_id, 7)
        context.set(sequence.probe.valid, 1)
        for _ in range(60):
            await context.delay(2e-7)
            taken = context.get(sequence.probe.ready)
            answers.extend([context.get(sequence.answer.payload.ok)] * context.get(sequence.answer.valid))
            await context.tick()
            if taken:
                context.set(sequence.probe.valid, 0)

    m, beat = Module(), Signal()
    m.submodules.unit = unit
    m.d.sync += beat.eq(~beat)
    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(unit.play, background=True)
    simulator.add_testbench(bench)
    simulator.run()
    assert answers == [1]


def test_not_covered() -> None:
    """The model refuses by name what it does not know."""
    model = UnitModel(TINY, random.Random(1))
    with pytest.raises(NotCoveredError, match="watchdog"):
        model.settings(node_id=1, watchdog=100)
    with pytest.raises(NotCoveredError, match="arm"):
        model.settings(node_id=1, arm=1)
    with pytest.raises(NotCoveredError, match="multicasts"):
        model.rx(0, Packet.make(multicast=1))
    desc = Author(TINY, random.Random(1)).conversation(3).descriptors[0][0]
    model.probe(3, 0)
    with pytest.raises(NotCoveredError, match="multicasts"):
        model.descriptor(desc | {"multicast": 1}, last=1, abort=0)


def _simulated(seeds: Iterable[int]) -> None:
    """A small RTL unit and a model in Amaranth's simulator."""
    for seed in seeds:
        rng = random.Random(seed)
        pair = Pair([OffloadUnit(TINY), UnitStandIn(TINY, rng)], TINY, n_rooms=2, rng=rng)
        author = Author(TINY, rng)
        for _ in range(2):
            pair.post(author.conversation(FIRST_JOB))
        pair.simulate(cycles=3000)


def _played(scenario: str, seeds: Iterable[int]) -> None:
    """Two small models."""
    for seed in seeds:
        rng = random.Random(seed)
        pair = SCENARIOS[scenario]([UnitStandIn(TINY, rng) for _ in range(2)], TINY, rng, 4)
        pair.run(cycles=4_000)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_small_unit(seed: int) -> None:
    """Passes: the planted errors below are planted in this one."""
    _simulated([seed])


_PLANTED = {
    "ended with another number of pulses": (
        "offload_unit", JobReporter, "rest.payload.pulses.eq(pulses.o.payload)",
        "rest.payload.pulses.eq(pulses.o.payload + 1)"),
    "a credit of another peer": (
        "offload_unit", CreditReturn, "header.peer.eq(credit.peer)", "header.peer.eq(credit.peer ^ 1)"),
    "a credit to another node": (
        "offload_unit", CreditReturn, "header.dest_id.eq(credit.dest_id)", "header.dest_id.eq(self.node_id)"),
    "a completion before the last write": (
        "offload_unit", OperationTable, " & (writes == 0))", ")"),
    "a completion of another length": (
        "offload_unit", OperationTable, "payload.bytes.eq(done.length)", "payload.bytes.eq(done.pulse_bytes)"),
    "the other operand": (
        "plan_stage", PassPlanner, "Mux(replaces, Select.PASS_B, Select.COMBINE)",
        "Mux(replaces, Select.PASS_A, Select.COMBINE)"),
    "a packet of another SeqID": (
        "plan_stage", PassPlanner, "header.seq_id.eq(desc.out_seq_id)", "header.seq_id.eq(desc.out_seq_id + 1)"),
    "a result at another place": (
        "plan_stage", PassPlanner, "desc.result_addr + self.slice.start)", "desc.result_addr + self.slice.start + 8)"),
    "terms are not sent": (
        "plan_stage", PassPlanner, "desc.remote_addr + progress.offset, operation.terms)",
        "desc.remote_addr + progress.offset, 0)"),
}


_IN_THE_MODEL = {
    "a result that nobody waits for": ("random programs", "entry.n_writes += 1", "entry.n_writes += 0"),
    "a packet of an open job is dropped": ("closed jobs", "if job not in self.closed or any(", "if any("),
    "a shared credit beyond the pool": ("random programs", "bool(grants and header[", "bool(1 or header["),
    "an error that is forgotten": ("errors", "if self.fault[0] == Status.OK:", "if self.fault[0] == Status.TIMEOUT:"),
}


@pytest.mark.parametrize("name", _IN_THE_MODEL)
def test_planted_in_the_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of jobs, credits and reports in the model itself are found by its checker."""
    scenario, old, new = _IN_THE_MODEL[name]
    monkeypatch.setattr("testbench.offload_unit.stand_in.UnitModel", changed(UnitModel, old, new))
    with pytest.raises(AssertionError):
        _played(scenario, range(6))


@pytest.mark.parametrize("name", _PLANTED)
def test_planted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors in several parts of the RTL unit are found at its boundary."""
    module, part, old, new = _PLANTED[name]
    monkeypatch.setattr(f"rtl.cou.{module}.{part.__name__}", changed(part, old, new))
    with pytest.raises(AssertionError):
        _simulated(range(4))  # not every error shows with every program
