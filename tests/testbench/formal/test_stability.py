"""What says that it is at rest stays so; a defect of it is found; the steps of the argument are sound."""

import random

import pytest

from testbench.formal.stability.__main__ import main, prove, run_mutation
from testbench.formal.stability.designs import REST_PROOFS, RestProof
from testbench.formal.stability.gates import FALSE, TRUE, Gates, negated
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
