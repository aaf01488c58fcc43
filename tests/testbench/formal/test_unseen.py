"""Nets that follow a payload without its `valid` are found, wherever they are; others are no faults."""

import random
from pathlib import Path

import pytest
from amaranth import Module, Mux
from amaranth.back import rtlil
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rtl.emit import Boundary
from testbench.formal.unseen.__main__ import main, prove, run_mutation
from testbench.formal.unseen.claim import faults_of_unseen
from testbench.formal.unseen.designs import DESIGNS, MUTATIONS, Design
from testbench.formal.unseen.gates import FALSE, TRUE, Gates, negated
from testbench.formal.unseen.netlist import Netlist
from testbench.formal.unseen.solver import GateSolver

_DESIGNS = [
    pytest.param(design, id=design.name, marks=() if design.name == "unit-linear" else pytest.mark.long)
    for design in DESIGNS
]


@pytest.mark.parametrize("design", _DESIGNS)
def test_offload_unit(design: Design) -> None:
    assert prove(design) == []


@pytest.mark.long
@pytest.mark.parametrize("mutation", [mutation.name for mutation in MUTATIONS])
@pytest.mark.parametrize("design", [design.name for design in DESIGNS])
def test_mutation(design: str, mutation: str) -> None:
    assert run_mutation(design, mutation)


class Sink(wiring.Component):
    """Keeps a payload in a register and in a memory; at one place it forgets to ask for `valid`."""

    def __init__(self, defect: str):
        self.defect = defect
        super().__init__({
            "i": In(stream.Signature(8)), "other": In(4), "kept": Out(8), "seen": Out(8), "read": Out(8),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = words = Memory(shape=8, depth=16, init=[])
        write, read = words.write_port(), words.read_port()
        valid, payload = self.i.valid, self.i.payload

        def asked(place: str):
            return 1 if self.defect == place else valid

        m.d.comb += [
            self.i.ready.eq(self.other[0] | (payload[0] if self.defect == "ready" else 0)),
            self.seen.eq(Mux(asked("output"), payload, 0)),
            # An address that nobody writes to may be anything.
            write.addr.eq(payload[4:]), write.data.eq(payload + self.other), write.en.eq(asked("write")),
            read.addr.eq(payload[:4] if self.defect == "read" else self.other), self.read.eq(read.data),
        ]
        with m.If(asked("register") & (self.other == 3)):
            m.d.sync += self.kept.eq(payload)
        return m


def faults(defect: str, folder: Path) -> list[str]:
    """Faults that are found in a sink."""
    (folder / "top.il").write_text(rtlil.convert(Boundary(Sink(defect)), name="top", emit_src=False))
    return faults_of_unseen(Netlist(folder), "i")


def test_a_payload_that_nobody_looks_at(tmp_path: Path) -> None:
    assert faults("", tmp_path) == []


@pytest.mark.parametrize(("defect", "found"), [
    ("register", "kept follows i"), ("output", "output seen follows i"), ("ready", "output i_ready follows i"),
    ("write", "what is written to"), ("read", "read"),
])
def test_one_that_somebody_looks_at(tmp_path: Path, defect: str, found: str) -> None:
    assert any(found in fault for fault in faults(defect, tmp_path))


@pytest.mark.parametrize("stream", ["other", "i_payload", "j"])
def test_a_stream_must_be_one(tmp_path: Path, stream: str) -> None:
    (tmp_path / "top.il").write_text(rtlil.convert(Boundary(Sink("")), name="top", emit_src=False))
    with pytest.raises(ValueError, match=f"not '{stream}'"):
        faults_of_unseen(Netlist(tmp_path), stream)


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
    assert "must be one of unit" in capsys.readouterr().err
