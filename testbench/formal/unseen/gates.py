"""And-inverter graph: what netlists are turned into before a solver sees them."""

from collections.abc import Sequence

TRUE, FALSE = 0, 1
"""Literals of the constants. A literal is twice a node's number, plus one if it is inverted; node 0 is true."""


def negated(literal: int) -> int:
    """The other value."""
    return literal ^ 1


class Gates:
    """Nodes of two inputs, each made once: what is the same by construction is the same literal.

    Members
    -------
    inputs : list of (int, int)
        Both inputs of each node; (-1, -1) of free variables and of the constant.
    """

    def __init__(self) -> None:
        self.inputs: list[tuple[int, int]] = [(-1, -1)]
        self._known: dict[tuple[int, int], int] = {}

    def free(self, width: int = 1) -> list[int]:
        """Variables with any value."""
        first = len(self.inputs)
        self.inputs.extend([(-1, -1)] * width)
        return [2 * (first + bit) for bit in range(width)]

    def both(self, a: int, b: int) -> int:
        """Conjunction."""
        if a > b:
            a, b = b, a
        if a == TRUE:
            return b
        if a == FALSE or a == b ^ 1:
            return FALSE
        if a == b:
            return a
        found = self._known.get((a, b))
        if found is None:
            found = self._known[a, b] = 2 * len(self.inputs)
            self.inputs.append((a, b))
        return found

    def either(self, a: int, b: int) -> int:
        """Disjunction."""
        return self.both(a ^ 1, b ^ 1) ^ 1

    def differ(self, a: int, b: int) -> int:
        """Exclusive disjunction."""
        if a <= FALSE:
            return b ^ (a == TRUE)
        if b <= FALSE:
            return a ^ (b == TRUE)
        if a ^ 1 == b:
            return TRUE
        if a == b:
            return FALSE
        return self.either(self.both(a, b ^ 1), self.both(a ^ 1, b))

    def choose(self, select: int, a: int, b: int) -> int:
        """`a` if `select`, else `b`."""
        if a == b:
            return a
        return self.either(self.both(select, a), self.both(select ^ 1, b))

    def any_of(self, literals: Sequence[int]) -> int:
        """True if one is true."""
        result = FALSE
        for literal in literals:
            result = self.either(result, literal)
        return result

    def all_of(self, literals: Sequence[int]) -> int:
        """True if all are true."""
        result = TRUE
        for literal in literals:
            result = self.both(result, literal)
        return result

    def total(self, a: Sequence[int], b: Sequence[int], carry: int) -> tuple[list[int], int]:
        """The sum of two numbers of equal width, lowest bit first, and its carry."""
        result = []
        for x, y in zip(a, b, strict=True):
            half = self.differ(x, y)
            result.append(self.differ(half, carry))
            carry = self.either(self.both(x, y), self.both(half, carry))
        return result, carry
