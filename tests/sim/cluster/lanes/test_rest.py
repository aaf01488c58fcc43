# amaranth: UnusedElaboratable=no
"""Edges that are left out because a design is at rest, against Amaranth's simulator, which leaves out none."""

import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rtl.kit.library import shared
from sim.cluster.lanes import code, rest
from sim.cluster.lanes.loops import without_loops
from sim.cluster.lanes.netlist import netlists
from sim.cluster.lanes.simplify import simplified

LANES, CYCLES, WIDTH = 4, 600, 20


class Alarm(wiring.Component):
    """Gets the time through a port: says, late, that it is above a limit, while it is armed."""

    time: In(WIDTH)
    limit: In(WIDTH)
    armed: In(1)
    rings: Out(1)
    seen: Out(WIDTH)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.sync += self.rings.eq(self.armed & (self.time[:4] > self.limit[:4]))
        m.d.comb += self.seen.eq(self.time + 1)
        return m


class Timed(wiring.Component):
    """All that a timer can reach: a register by way of a comparison, a choice, a look at a table, another module; a
    memory's words, and where they are written; and timers that are set.
    """

    set: In(1)
    value: In(WIDTH)
    limit: In(5)
    which: In(3)
    armed: In(6)
    stamp: In(1)
    address: In(3)

    now: Out(WIDTH)
    late: Out(1)
    chosen: Out(WIDTH)
    looked_up: Out(8)
    rings: Out(1)
    seen: Out(WIDTH)
    word: Out(WIDTH)
    ran: Out(WIDTH)
    busy: Out(6)
    blinks: Out(1)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        time, run = Signal(WIDTH, init=5), Signal(WIDTH)
        m.d.sync += [time.eq(time + 3), run.eq(Mux(self.set, self.value, run + 1))]
        m.d.sync += self.late.eq(self.armed[0] & (time[:5] == self.limit))
        with m.If(self.armed[1] | (time[2:6] == 9) & self.which[2]):
            m.d.sync += self.chosen.eq(Mux(self.which[0], time, self.value))
        table = Array([3, 1, 4, 1, 5, 9, 2, 6])
        m.d.sync += self.looked_up.eq(Mux(self.which[1], table[time[3:6]], table[self.which]))
        alarm = Alarm()
        m.submodules.alarm = shared("alarm", alarm, platform)
        m.d.comb += [alarm.time.eq(run), alarm.limit.eq(self.limit), alarm.armed.eq(self.armed[2])]
        m.d.comb += [self.rings.eq(alarm.rings), self.busy.eq(self.armed)]
        with m.If(self.stamp):
            m.d.sync += [self.now.eq(time), self.seen.eq(alarm.seen), self.ran.eq(run)]
        m.submodules.stamps = stamps = Memory(shape=WIDTH, depth=8, init=[])
        write, read = stamps.write_port(), stamps.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(Mux(self.which[0], time[4:7], self.address)),
            write.data.eq(Mux(self.which[1], run, self.value)),
            write.en.eq(self.stamp | self.armed[5] | (self.armed[3] & (time[3:6] == 0))), read.addr.eq(self.address),
            self.word.eq(read.data), self.blinks.eq(self.armed[4] & time[4]),
        ]
        return m


def driven(seed: int) -> Any:
    """Inputs that change, and then do not for up to 60 cycles, at all nodes at once."""
    plan = random.Random(f"rest {seed}")
    bursts = [1] * CYCLES
    at = 0
    while at < CYCLES:
        at += plan.choice((1, 1, 2, 5))
        for _ in range(plan.choice((0, 3, 17, 60))):
            if at < CYCLES:
                bursts[at] = 0
            at += 1
    history = []
    for node in range(8):
        rng = random.Random(f"rest {seed} {node}")
        # All nodes of a word rest or none: so one is busy, and the others are now and then.
        often = 0.1 if node == 0 else 0.02
        now: dict[str, int] = {}
        cycles = []
        for changes in bursts:
            if changes or not now:
                now = {
                    "set": int(rng.random() < often), "value": rng.getrandbits(WIDTH), "limit": rng.getrandbits(5),
                    "which": sum((rng.random() < often) << bit for bit in range(3)),
                    "stamp": int(rng.random() < often), "address": rng.getrandbits(3),
                    "armed": sum((rng.random() < often) << bit for bit in range(6)), "rst": int(rng.random() < 0.01),
                }
            else:  # what stands in a rest is mostly at rest itself
                now = now | {"set": now["set"] & (rng.random() < 0.3), "stamp": now["stamp"] & (rng.random() < 0.3)}
            cycles.append(dict(now))
        history.append(cycles)
    return history


def outcome(checker: SimpleNamespace, folder: Path, *, seed: int, **named: Any) -> tuple[list[str], int]:
    """Returns the differences, and how many edges were left out."""
    stimulus = driven(seed)
    program = checker.built(folder, Timed(), lanes=LANES, isa=checker.isas[-1], **named)
    found, said = program.run(stimulus, seeds=[0] * LANES, how=[3] * CYCLES)
    wrong: list[str] = checker.differences(found, checker.expected(Timed(), stimulus))
    return wrong, int(said[-1].removeprefix("left out: "))


@pytest.mark.parametrize("seed", range(2))
def test_what_is_left_out_changes_nothing(seed: int, checker: SimpleNamespace, tmp_path: Path) -> None:
    wrong, left_out = outcome(checker, tmp_path, seed=seed)
    print(f"{left_out} of {CYCLES} edges left out")
    assert not wrong
    assert left_out > CYCLES // 20


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_more_seeds(seed: int, checker: SimpleNamespace, tmp_path: Path) -> None:
    wrong, left_out = outcome(checker, tmp_path, seed=seed)
    assert not wrong
    assert left_out


Plant = Callable[[pytest.MonkeyPatch], Any]


def comparison_not_followed(patch: pytest.MonkeyPatch) -> None:
    """Ends the trace from a timer at comparisons."""
    right = rest._Watched._shadow
    patch.setattr(rest._Watched, "_shadow", lambda self, cell: 0 if cell.op in ("eq", "ult", "ule", "match") else
                  right(self, cell))


def instances_not_followed(patch: pytest.MonkeyPatch) -> None:
    """Keeps the trace from a timer in an instance out of the module around it."""
    right = rest._Watched._sources

    def wrong(self: Any) -> None:
        right(self)
        self._restless.clear()
    patch.setattr(rest._Watched, "_sources", wrong)


def writes_not_followed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rest._Watched, "_writes", lambda self, cell: set())


def conditions_not_followed(patch: pytest.MonkeyPatch) -> None:
    right = rest._Watched._chosen
    patch.setattr(rest._Watched, "_chosen", lambda self, cell, of: right(
        self, cell, [0 if index % 2 else one for index, one in enumerate(of)],
    ))


def ports_not_followed(patch: pytest.MonkeyPatch) -> None:
    """An output of the whole may follow a timer."""
    right = rest._Watched._follow
    patch.setattr(rest._Watched, "_follow", lambda self, number, cell: None if cell.op == "output" and self._is_top else
                  right(self, number, cell))


def writes_are_no_work(patch: pytest.MonkeyPatch) -> None:
    right = code._PartCode._write

    def wrong(self: Any, number: int, cell: Any) -> None:
        before = len(self._lines)
        right(self, number, cell)
        moved = self._moved("").removesuffix(";")
        self._lines[before:] = [
            line if moved not in line else line[:line.index(moved)] + "}" for line in self._lines[before:]
        ]
    patch.setattr(code._PartCode, "_write", wrong)


def registers_are_timers(patch: pytest.MonkeyPatch) -> None:
    """A register that keeps its value now and then is taken for a timer."""
    right = rest._steps
    patch.setattr(rest, "_steps", lambda netlist, register, value: (
        step for step in right(netlist, register, value) if step != 0
    ))


PLANTED: dict[str, Plant] = {
    "comparisons are not followed": comparison_not_followed,
    "instances are not followed": instances_not_followed,
    "writes are not followed": writes_not_followed,
    "conditions are not followed": conditions_not_followed,
    "outputs are not followed": ports_not_followed,
    "a write is no work": writes_are_no_work,
    "timers of another step": lambda _patch: ("tables.cpp", "0x3ull, ", "0x2ull, "),
}


@pytest.mark.parametrize("name", PLANTED)
def test_an_error_is_found(
    name: str, checker: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    change = PLANTED[name](monkeypatch)
    named = {} if change is None else {"change": checker.planted(*change)}
    assert any(outcome(checker, tmp_path / str(seed), seed=seed, **named)[0] for seed in range(4))


def test_timers_of_the_tops(small: Any) -> None:
    """Of a NIC and a switch nothing else goes on for ever."""
    from rtl.simulation import simulated

    def timers(top: str) -> list[str]:
        found = netlists(top, simulated(top, small)[0])
        for netlist in found.values():
            without_loops(netlist)
        return sorted(
            next(name for name, bits in netlist.names.items() if number << 16 in bits.values()).rpartition(".")[2]
            for netlist in map(simplified, found.values()) for number in rest.timers_of(netlist)
        )

    assert timers("nic") == ["cycles", "run", "run"]
    assert timers("switch") == []
