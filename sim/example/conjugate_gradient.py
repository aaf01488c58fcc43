"""Conjugate gradients on rows that are spread over ranks; what a rank needs from the others it asks for.

:func:`solve` is the program of one rank. It knows neither MPI nor hardware: it yields what it wants to be communicated,
and is sent the answer. So one and the same program runs under MPI and on the simulated cluster.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Sum:
    """Asks for the sum of `values` over all ranks; answered with an array of that shape, the same at every rank."""

    values: FloatArray


@dataclass(frozen=True)
class Halo:
    """Asks for the edge rows of the neighbours; answered with (last row of the rank before, first row of the next).

    `first` and `last` are this rank's own. At the ends of the grid the answer is a row of zeros: the boundary.
    """

    first: FloatArray
    last: FloatArray


Wish = Sum | Halo
Answer = FloatArray | tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Problem:
    """Heat in a plate of `side` x `side` points, its border cold, that conducts 100 times better in one half.

    The matrix of five points a row is symmetric and positive definite; its condition grows with the square of `side`.
    """

    side: int
    ranks: int

    def __post_init__(self) -> None:
        if not 1 <= self.ranks <= self.side:
            raise ValueError(f"ranks must be from 1 to side ({self.side}), not {self.ranks!r}")

    def rows(self, rank: int) -> tuple[int, int]:
        """First row of the grid that `rank` owns, and the one after its last."""
        return self.side * rank // self.ranks, self.side * (rank + 1) // self.ranks

    def conductance(self) -> FloatArray:
        """Of every point, with a border around: shape (side + 2, side + 2)."""
        whole = np.ones((self.side + 2, self.side + 2))
        whole[:, self.side // 2 :] = 100.0
        return whole

    def heat(self) -> FloatArray:
        """What flows in at every point, irregular on purpose: shape (side, side)."""
        return np.random.default_rng(self.side).standard_normal((self.side, self.side))


class Operator:
    """The rows of the matrix that one rank owns."""

    def __init__(self, problem: Problem, rank: int):
        first, after = problem.rows(rank)
        whole = problem.conductance()
        # A link between two points conducts as well as both together.
        across = 0.5 * (whole[1:, :] + whole[:-1, :])[first : after + 1, 1:-1]
        along = 0.5 * (whole[:, 1:] + whole[:, :-1])[first + 1 : after + 1, :]
        self.above, self.below = across[:-1], across[1:]
        self.left, self.right = along[:, :-1], along[:, 1:]
        self.diagonal = self.above + self.below + self.left + self.right

    def __call__(self, x: FloatArray, before: FloatArray, after: FloatArray) -> FloatArray:
        """The product with the rank's part of a vector and the rows next to it."""
        tall = np.vstack((before, x, after))
        wide = np.pad(x, ((0, 0), (1, 1)))
        return (
            self.diagonal * x - self.above * tall[:-2] - self.below * tall[2:] - self.left * wide[:, :-2]
            - self.right * wide[:, 2:]
        )


def solve(
    problem: Problem, rank: int, *, tolerance: float = 1e-10, most: int = 1000
) -> Generator[Wish, Answer, list[float]]:
    """The program of one rank: the norm of the residual before every step, until it has fallen by `tolerance`.

    Both inner products of a step are summed over the ranks at once: A. T. Chronopoulos, C. W. Gear, s-step iterative
    methods for symmetric linear systems, Journal of Computational and Applied Mathematics 25 (1989).
    """
    operator = Operator(problem, rank)
    first, after = problem.rows(rank)
    r = problem.heat()[first:after].copy()
    p, s = np.zeros_like(r), np.zeros_like(r)
    rr_before, alpha = 1.0, 1.0
    history: list[float] = []
    while True:
        before, behind = yield Halo(r[0].copy(), r[-1].copy())
        w = operator(r, np.asarray(before), np.asarray(behind))
        # Its own parts a rank sums in an order that depends on their shape only.
        sums = yield Sum(np.array([np.add.reduce((r * r).ravel()), np.add.reduce((w * r).ravel())]))
        rr, wr = map(float, np.asarray(sums))
        history.append(float(np.sqrt(rr)))
        if history[-1] <= tolerance * history[0] or len(history) > most:
            return history
        beta = rr / rr_before if len(history) > 1 else 0.0
        alpha = rr / (wr - beta * rr / alpha) if len(history) > 1 else rr / wr
        p, s = r + beta * p, w + beta * s
        r = r - alpha * s
        rr_before = rr
