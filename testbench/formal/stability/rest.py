"""The claim that a design that says that it is at rest does not change, shown from any state."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import partial

from testbench.formal.stability.gates import FALSE, TRUE, Gates, negated
from testbench.formal.stability.netlist import Bit, Evaluator, Netlist
from testbench.formal.stability.solver import GateSolver

_FRAMES, _LONG = 4, 12
"""Cycles in a row that are looked at together: what takes no more steps to its end need not tell that it moves. The
second number is for what the first one leaves, as the eight words of inline data that follow a descriptor."""


@dataclass
class Report:
    """What came out.

    Members
    -------
    forced, settled : list of int
        Registers that are constant because nothing moves, by cycles before that is known; others that rest, by step.
    cycles : int
        Cycles without work and without events after which all registers are at rest.
    faults : list of str
        What contradicts the claim, in words; it holds if there are none.
    """

    forced: list[int] = field(default_factory=list)
    settled: list[int] = field(default_factory=list)
    cycles: int = 0
    faults: list[str] = field(default_factory=list)


class Rest:
    """A netlist in cycles in which its register `moved` is 0 and no event comes. ``docs/formal.md`` has the argument.

    Parameters
    ----------
    netlist : Netlist
        The design; it holds one :class:`rtl.kit.quiescence.Quiescence` at ``core.quiescence``.
    events : collection of str
        Inputs that are 0. All others may do anything in any cycle.
    held : collection of str
        Inputs that keep their value.
    excepted : collection of str
        Registers that may change.
    answers : collection of str
        Outputs that may follow an input within a cycle: the `ready` of items that nobody offers.
    """

    def __init__(
        self, netlist: Netlist, *, events: Collection[str], held: Collection[str] = (), excepted: Collection[str] = (),
        answers: Collection[str] = (),
    ):
        unknown = {*events, *held} - set(netlist.inputs)
        if unknown:
            raise ValueError(f"events and held must be inputs, not {sorted(unknown)}")
        self.netlist, self.events, self.held = netlist, set(events), set(held)
        self.count = [bit for bit in netlist.nets["core.quiescence.count"] if bit in netlist.registers]
        self.moved = netlist.nets["core.quiescence.moved"][0]
        self.excepted = {bit for name in excepted for bit in netlist.nets[name]}
        self.registers = [bit for bit in netlist.registers if bit not in self.excepted and bit not in self.count]
        self.answers = set(answers)
        self.constants: dict[Bit, int] = {self.moved: FALSE}
        self.read_only: set[str] = set()

    def prove(self) -> Report:
        """Goes through the steps of the argument; what does not hold is in the report."""
        report = Report(forced=self._force())
        stable = self._settle(report)
        report.cycles += len(report.forced) + 2
        report.faults += [f"{name} does not come to rest" for name in self._groups(set(self.registers) - stable)]
        report.faults += [
            f"{memory.name} may be written" for memory in self.netlist.memories if memory.name not in self.read_only
        ]
        if not report.faults:
            report.faults += self._stays()
        report.faults += self._counts(report.cycles)
        return report

    def _groups(self, bits: Iterable[Bit]) -> dict[str, list[Bit]]:
        """Registers by name, without the number of the bit."""
        groups: dict[str, list[Bit]] = {}
        for bit in bits:
            groups.setdefault(self.netlist.names[bit].rsplit("[", 1)[0], []).append(bit)
        return dict(sorted(groups.items()))

    def _free_state(self, gates: Gates) -> dict[Bit, int]:
        return {
            bit: self.constants[bit] if bit in self.constants else gates.free()[0] for bit in self.registers
        }

    def _cycle(self, gates: Gates, state: dict[Bit, int], words: "Words", *, events: bool = False) -> Evaluator:
        """The nets of a cycle that begins with these registers."""
        known = dict(state)
        for name, bits in self.netlist.inputs.items():
            for bit in bits:
                if not events and name in self.events:
                    known[bit] = FALSE
                elif name in self.held:
                    known[bit] = words.held.setdefault(bit, gates.free()[0])
                else:
                    known[bit] = gates.free()[0]
        for bit in (*self.excepted, *self.count):
            known.setdefault(bit, gates.free()[0])
        words.frame += 1
        return self.netlist.evaluator(gates, known, words.recall, self.read_only)

    def _next(self, nets: Evaluator, bits: Iterable[Bit]) -> dict[Bit, int]:
        return {bit: nets[self.netlist.registers[bit]] for bit in bits}

    def _quiet(self, nets: Evaluator) -> list[int]:
        """What holds in a cycle: a register that is constant gets that constant again."""
        return [
            literal if self.constants[bit] == TRUE else negated(literal)
            for bit, literal in self._next(nets, self.constants).items()
        ]

    def _force(self) -> list[int]:
        """Registers that have one value because others have, each known a cycle earlier than those."""
        rounds: list[int] = []
        while True:
            gates = Gates()
            state = self._free_state(gates)
            place = {literal: bit for bit, literal in state.items() if literal not in (TRUE, FALSE)}
            waiting = self._quiet(self._cycle(gates, state, Words(gates, self.read_only)))
            fresh: dict[Bit, int] = {}
            while waiting:
                literal = waiting.pop()
                plain, (a, b) = literal & ~1, gates.inputs[literal >> 1]
                if plain in place:
                    fresh[place[plain]] = TRUE if literal == plain else FALSE
                elif literal == plain and a >= 0:
                    waiting += [a, b]
            if not fresh:
                return rounds
            rounds.append(len(fresh))
            self.constants.update(fresh)

    def _settle(self, report: Report) -> set[Bit]:
        """Registers that rest, step by step: those that do so because those of the steps before do."""
        stable: set[Bit] = set(self.constants)
        while len(stable) < len(self.registers):
            for n_frames in (_FRAMES, _LONG):
                rested, quiet = self._step(stable, n_frames)
                if rested or quiet:
                    break
            else:
                break
            report.settled.append(len(rested))
            report.cycles += n_frames - 2
            stable |= rested
            self.read_only |= quiet
        return stable

    def _step(self, stable: set[Bit], n_frames: int) -> tuple[set[Bit], set[str]]:
        """Registers that the last of so many cycles does not change, and memories that it does not write, if `stable`
        registers rest. In many cycles it also counts what would change those: what only a count ends has no end while
        something that rests keeps it going.
        """
        gates = Gates()
        solver, words = GateSolver(gates), Words(gates, self.read_only)
        state = before = self._free_state(gates)
        for frame in range(n_frames):
            nets = self._cycle(gates, state, words)
            for literal in self._quiet(nets):
                solver.claim(literal)
            if n_frames == _LONG:
                for bit, literal in self._next(nets, stable - self.constants.keys()).items():
                    solver.claim(negated(gates.differ(literal, state[bit])))
            if frame < n_frames - 1:
                before, after = state, self._next(nets, (bit for bit in self.registers if bit not in stable))
                state = state | after
        words.agree(solver)
        written = {
            memory.name for memory in self.netlist.memories if memory.name not in self.read_only
            and solver.which({nets[bit] for bit in memory.write_enable} - {FALSE})
        }
        quiet = {memory.name for memory in self.netlist.memories} - written - self.read_only
        return self._unchanged(solver, {
            bit: gates.differ(before[bit], state[bit]) for bit in self.registers if bit not in stable
        }), quiet

    def _unchanged(self, solver: GateSolver, changes: dict[Bit, int]) -> set[Bit]:
        """Those whose change is impossible. Bits of one register mostly have one reason: one of them is tried first."""
        rested = {bit for bit, literal in changes.items() if literal == FALSE}
        groups = self._groups(changes.keys() - rested)
        moving = solver.which({changes[bits[0]] for bits in groups.values()})
        for bits in groups.values():
            if changes[bits[0]] not in moving and solver.none_possible([changes[bit] for bit in bits]):
                rested |= set(bits)
        return rested

    def _stays(self) -> list[str]:
        """Faults in: where a cycle has changed nothing, no other inputs and no other time would have."""
        gates = Gates()
        solver, words = GateSolver(gates), Words(gates, self.read_only)
        state = self._free_state(gates)
        first, second = (self._next(self._cycle(gates, state, words), self.registers) for _ in range(2))
        for bit in self.registers:
            solver.claim(negated(gates.differ(first[bit], state[bit])))
        changes = {bit: gates.differ(first[bit], second[bit]) for bit in self.registers}
        faults = [
            f"{name} changes with inputs that are no events"
            for name, bits in self._groups(bit for bit in changes if changes[bit] != FALSE).items()
            if solver.possible(gates.any_of([changes[bit] for bit in bits]))
        ]
        # Outputs follow from registers that do not change.
        nets = [self._cycle(gates, state, words) for _ in range(2)]
        for name, bits in self.netlist.outputs.items():
            differs = [gates.differ(*(cycle[bit] for cycle in nets)) for bit in bits if bit not in self.count]
            if name not in self.answers and any(literal != FALSE and solver.possible(literal) for literal in differs):
                faults.append(f"output {name} changes with inputs that are no events")
        return faults

    def _counts(self, least: int) -> list[str]:
        """Faults in: `quiescent` is high only if that many cycles were without work and events."""
        gates = Gates()
        solver, words = GateSolver(gates), Words(gates, set())
        state = {bit: gates.free()[0] for bit in (*self.registers, *self.count)}
        nets = self._cycle(gates, state, words, events=True)
        now, after = ([state[bit] for bit in self.count], list(self._next(nets, self.count).values()))
        busy = gates.any_of([state[self.moved], *(
            nets[bit] for name in self.events for bit in self.netlist.inputs[name]
        )])
        more, _ = gates.total(now, [TRUE] + [FALSE] * (len(now) - 1), FALSE)
        faults = []
        if solver.possible(busy, gates.any_of(after)):
            faults.append("the count goes on in spite of an event or of work")
        other = [
            gates.any_of([gates.differ(a, b) for a, b in zip(after, value, strict=True)]) for value in (more, now)
        ]
        if solver.possible(*other, gates.any_of(after)):
            faults.append("the count makes a leap")
        if self.netlist.outputs["quiescent"] != [self.count[-1]]:
            faults.append("quiescent is not the highest bit of the count")
        if 1 << (len(self.count) - 1) < least:
            faults.append(f"{1 << (len(self.count) - 1)} cycles are counted, {least} are needed")
        return faults


class Words:
    """What memories, and cells that are not looked into, answer: the same to the same question.

    Parameters
    ----------
    gates : Gates
        Where the answers are.
    read_only : set of str
        Memories that are not written; the others may answer differently in every cycle.
    """

    def __init__(self, gates: Gates, read_only: set[str]):
        self.frame = 0
        self.held: dict[Bit, int] = {}
        self._gates, self._read_only = gates, read_only
        self._known: dict[tuple[object, ...], list[int]] = {}
        self._asked: dict[str, list[tuple[int, tuple[int, ...], list[int]]]] = {}

    def recall(self, name: str, question: tuple[object, ...], width: int, *, is_memory: bool) -> list[int]:
        """The answer."""
        key = (name, question, width) if not is_memory or name in self._read_only else (name, question, self.frame)
        if key not in self._known:
            self._known[key] = self._gates.free(width)
            if is_memory and name in self._read_only:
                self._asked.setdefault(name, []).append((self.frame, question, self._known[key]))  # type: ignore[arg-type]
        return self._known[key]

    def agree(self, solver: GateSolver) -> None:
        """Tells the solver that equal addresses have equal words, from one cycle to the next."""
        differ, any_of = self._gates.differ, self._gates.any_of
        for asked in self._asked.values():
            for k, (frame, address, word) in enumerate(asked):
                for its_frame, its_address, its_word in asked[k + 1:]:
                    if its_frame == frame + 1:
                        unlike = any_of([differ(a, b) for a, b in zip(address, its_address, strict=True)])
                        agrees = partial(map, differ, word)
                        for literal in agrees(its_word):
                            solver.claim_any([unlike, negated(literal)])
