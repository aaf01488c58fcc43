"""What says that it is at rest stays so; a defect of it is found; the steps of the argument are sound."""

import random
from pathlib import Path

import pytest
from amaranth import Module, Signal
from amaranth.back import rtlil
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.emit import Boundary
from rtl.kit.quiescence import Quiescence
from testbench.formal.stability.__main__ import main, prove, run_mutation
from testbench.formal.stability.designs import REST_PROOFS, RestProof
from testbench.formal.stability.gates import FALSE, TRUE, Gates, negated
from testbench.formal.stability.netlist import Netlist
from testbench.formal.stability.rest import Report, Rest
from testbench.formal.stability.solver import GateSolver

PROOFS = [
    pytest.param(proof, id=proof.name, marks=() if proof.quick else pytest.mark.long) for proof in REST_PROOFS
]


@pytest.mark.parametrize("proof", PROOFS)
def test_rest(proof: RestProof) -> None:
    report = prove(proof)
    assert report.faults == []
    assert report.cycles <= (16 if proof.top == "switch" else 64)


@pytest.mark.parametrize(("proof", "mutation"), [
    pytest.param(
        proof.name, mutation.name, id=f"{proof.name}-{mutation.name}",
        marks=() if proof.top == "switch" else pytest.mark.long,
    )
    for proof in REST_PROOFS for mutation in proof.mutations
])
def test_mutation(proof: str, mutation: str) -> None:
    assert run_mutation(proof, mutation)


class Train(wiring.Component):
    """Sends words by itself after an event, of which nothing tells: `n_words`, or without end."""

    def __init__(self, n_words: int, *, has_end: bool):
        self.n_words, self.has_end = n_words, has_end
        super().__init__({"event": In(1), "at": Out(range(n_words)), "quiescent": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.quiescence = quiescence = Quiescence(cycles=64)
        begins, sends = Signal(), Signal()
        m.d.comb += [
            quiescence.event.eq(self.event), quiescence.moves.eq(begins), self.quiescent.eq(quiescence.quiescent),
        ]
        m.d.sync += [
            begins.eq(self.event), sends.eq(begins | (sends & ((self.at != self.n_words - 1) | (not self.has_end)))),
        ]
        with m.If(sends):
            m.d.sync += self.at.eq(self.at + 1)
        return m


def rest_of(train: Train, folder: Path) -> Report:
    """What is said of it."""
    (folder / "top.il").write_text(rtlil.convert(Boundary(train), name="top", emit_src=False))
    return Rest(Netlist(folder), events=["event", "rst"]).prove()


@pytest.mark.parametrize("n_words", [2, 8])
def test_a_short_count_ends(tmp_path: Path, n_words: int) -> None:
    """Though nothing tells that it goes on; the cycles that it takes are needed."""
    report = rest_of(Train(n_words, has_end=True), tmp_path)
    assert report.faults == []
    assert report.cycles > n_words


@pytest.mark.parametrize(("n_words", "has_end"), [(2, False), (8, False), (16, True)])
def test_what_is_not_seen_to_end(tmp_path: Path, n_words: int, has_end: bool) -> None:
    """Because it does not, or because it takes longer than is looked at."""
    faults = rest_of(Train(n_words, has_end=has_end), tmp_path).faults
    assert any("at does not come to rest" in fault for fault in faults)


def test_gates_and_solver() -> None:
    """Sums of the graph, and what the solver says of them, are those of integers."""
    chance = random.Random(1)
    for _ in range(20):
        a, b = chance.randrange(32), chance.randrange(32)
        gates = Gates()
        solver = GateSolver(gates)
        left, right = gates.free(5), gates.free(5)
        total, carry = gates.total(left, right, FALSE)
        known = [bit ^ (not value >> k & 1) for value, bits in ((a, left), (b, right)) for k, bit in enumerate(bits)]
        right = [bit ^ (not a + b >> k & 1) for k, bit in enumerate([*total, carry])]
        assert solver.possible(*known, *right)
        wrong = gates.any_of([bit ^ (a + b >> k & 1) for k, bit in enumerate([*total, carry])])
        assert not solver.possible(*known, wrong)


@pytest.mark.parametrize("is_hard", [False, True])
def test_none_possible(monkeypatch: pytest.MonkeyPatch, is_hard: bool) -> None:
    """Sums of numbers of five bits are none of those above 62, whether all are asked for at once or one by one."""
    gates = Gates()
    total, carry = gates.total(gates.free(5), gates.free(5), FALSE)
    bits = [*total, carry]

    def is_number(number: int) -> int:
        return negated(gates.any_of([bit ^ (number >> k & 1) for k, bit in enumerate(bits)]))

    solver, asked = GateSolver(gates), []
    possible = solver.possible
    monkeypatch.setattr(solver, "possible", lambda literal: asked.append(literal) or possible(literal))
    if is_hard:
        monkeypatch.setattr(solver._solver, "solve_limited", lambda **_: None)
    beyond = [is_number(63)]
    assert solver.none_possible([*beyond, gates.both(bits[0], negated(bits[0]))])
    assert not solver.none_possible([*beyond, is_number(62)])
    assert not solver.none_possible([is_number(0), *beyond])
    assert len(asked) == (5 if is_hard else 0)


def test_constants_are_folded() -> None:
    gates = Gates()
    (a,) = gates.free()
    assert gates.both(a, TRUE) == a
    assert gates.both(a, a ^ 1) == FALSE
    assert gates.differ(a, a) == FALSE
    assert gates.choose(a, TRUE, FALSE) == a


def test_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing"]) == 2
    assert "must be one of switch" in capsys.readouterr().err
