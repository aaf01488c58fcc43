"""A solver that takes over nodes of an and-inverter graph when a question needs them."""

from collections.abc import Collection, Iterable

from pysat.solvers import Solver

from testbench.formal.unseen.gates import TRUE, Gates

_CONFLICTS = 20_000
"""After so many a question about many literals is taken apart."""


class GateSolver:
    """Answers questions about one graph, one after the other; what was learnt stays.

    Parameters
    ----------
    gates : Gates
        The graph; it may grow between questions.
    """

    def __init__(self, gates: Gates):
        self._gates = gates
        self._solver = Solver(name="glucose4")
        self._there = {0}
        self._solver.add_clause([1])

    def _variable(self, literal: int) -> int:
        number = (literal >> 1) + 1
        return -number if literal & 1 else number

    def _take_over(self, literals: Iterable[int]) -> None:
        waiting = [literal >> 1 for literal in literals]
        while waiting:
            node = waiting.pop()
            if node in self._there:
                continue
            self._there.add(node)
            a, b = self._gates.inputs[node]
            if a < 0:
                continue
            out, x, y = node + 1, self._variable(a), self._variable(b)
            for clause in ([-out, x], [-out, y], [out, -x, -y]):
                self._solver.add_clause(clause)
            waiting += [a >> 1, b >> 1]

    def claim(self, literal: int) -> None:
        """From now on this holds."""
        if literal != TRUE:
            self.claim_any([literal])

    def claim_any(self, literals: list[int]) -> None:
        """From now on one of these holds."""
        self._take_over(literals)
        self._solver.add_clause([self._variable(literal) for literal in literals])

    def possible(self, *literals: int) -> bool:
        """True if all of these can be true at once; then :meth:`value` gives such a case."""
        self._take_over(literals)
        if not self._solver.solve(assumptions=[self._variable(literal) for literal in literals]):
            return False
        self._model = self._solver.get_model()
        return True

    def none_possible(self, literals: Collection[int]) -> bool:
        """True if none of these can be true.

        All at once are asked for first, which mostly is soon answered. What is not is asked one by one: the reason for
        one is found sooner than that for all.
        """
        self._solver.conf_budget(_CONFLICTS)
        either = self._gates.any_of(list(literals))
        self._take_over([either])
        answer = self._solver.solve_limited(assumptions=[self._variable(either)])
        return not any(map(self.possible, literals)) if answer is None else not answer

    def value(self, literal: int) -> bool:
        """Value of a literal in the case found last; false if nobody asked for it."""
        number = literal >> 1
        bit = number < len(self._model) and self._model[number] > 0
        return bit ^ bool(literal & 1)

    def which(self, literals: Iterable[int]) -> set[int]:
        """Those of the literals that can be true, each by itself."""
        open_ = set(literals)
        found: set[int] = set()
        while open_:
            guard = self._gates.free()[0]
            self.claim_any([guard ^ 1, *open_])
            # As many as possible in each answer.
            self._solver.set_phases([self._variable(literal) for literal in open_])
            if not self.possible(guard):
                break
            now = {literal for literal in open_ if self.value(literal)}
            found |= now
            open_ -= now
            self.claim(guard ^ 1)
        return found
