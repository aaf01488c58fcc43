"""Heat in a plate, by conjugate gradients over any number of MPI processes.

    mpiexec -n 5 python cg.py --side 12
    conic mpiexec -n 5 python cg.py --side 12

A plain MPI program, which knows nothing of who carries out its collectives. Each rank owns rows of the grid, asks its
neighbours for the rows next to them, and all ranks sum two numbers a step.
"""

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Plate:
    """A rank's rows of a plate of `side` x `side` points, its border cold, that conducts 100 times better in one half.

    The matrix of five points a row is symmetric and positive definite; its condition grows with the square of `side`.
    """

    def __init__(self, comm: MPI.Intracomm, side: int):
        self.comm, self.side = comm, side
        self.first, self.after = side * comm.rank // comm.size, side * (comm.rank + 1) // comm.size
        whole = np.ones((side + 2, side + 2))
        whole[:, side // 2 :] = 100.0
        # A link between two points conducts as well as both together.
        across = 0.5 * (whole[1:, :] + whole[:-1, :])[self.first : self.after + 1, 1:-1]
        along = 0.5 * (whole[:, 1:] + whole[:, :-1])[self.first + 1 : self.after + 1, :]
        self.above, self.below = across[:-1], across[1:]
        self.left, self.right = along[:, :-1], along[:, 1:]
        self.diagonal = self.above + self.below + self.left + self.right

    def heat(self) -> FloatArray:
        """Heat that flows in at every point of these rows, irregular on purpose."""
        return np.random.default_rng(self.side).standard_normal((self.side, self.side))[self.first : self.after]

    def neighbours(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The last row of the rank before and the first one of the rank behind; zeros at the border."""
        rank, size = self.comm.rank, self.comm.size
        up = rank - 1 if rank else MPI.PROC_NULL
        down = rank + 1 if rank + 1 < size else MPI.PROC_NULL
        before, behind = np.zeros(self.side), np.zeros(self.side)
        self.comm.Sendrecv(x[-1].copy(), dest=down, recvbuf=before, source=up)
        self.comm.Sendrecv(x[0].copy(), dest=up, recvbuf=behind, source=down)
        return before, behind

    def times(self, x: FloatArray) -> FloatArray:
        """These rows of the product of the matrix with a vector."""
        before, behind = self.neighbours(x)
        tall = np.vstack((before, x, behind))
        wide = np.pad(x, ((0, 0), (1, 1)))
        return (
            self.diagonal * x - self.above * tall[:-2] - self.below * tall[2:] - self.left * wide[:, :-2]
            - self.right * wide[:, 2:]
        )


def solve(plate: Plate, *, tolerance: float, most: int = 10_000) -> tuple[FloatArray, list[float]]:
    """The rank's rows of the temperature, and the norm of the residual before every step until it fell by `tolerance`.

    Both inner products of a step are summed over the ranks at once: A. T. Chronopoulos, C. W. Gear, s-step iterative
    methods for symmetric linear systems, Journal of Computational and Applied Mathematics 25 (1989).
    """
    r = plate.heat()
    x, p, s = np.zeros_like(r), np.zeros_like(r), np.zeros_like(r)
    before, alpha = 1.0, 1.0
    history: list[float] = []
    while True:
        w = plate.times(r)
        # Its own parts a rank sums in an order that depends on their shape only.
        parts = np.array([np.add.reduce((r * r).ravel()), np.add.reduce((w * r).ravel())])
        sums = np.empty_like(parts)
        plate.comm.Allreduce(parts, sums, op=MPI.SUM)
        rr, wr = map(float, sums)
        history.append(float(np.sqrt(rr)))
        if history[-1] <= tolerance * history[0] or len(history) > most:
            return x, history
        beta = rr / before if len(history) > 1 else 0.0
        alpha = rr / (wr - beta * rr / alpha) if len(history) > 1 else rr / wr
        p, s = r + beta * p, w + beta * s
        x, r = x + alpha * p, r - alpha * s
        before = rr


def main() -> None:
    """Solves, and has rank 0 say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--side", type=int, default=8, help="points of the grid each way, a rank's at least one row")
    parser.add_argument("--tolerance", type=float, default=1e-10)
    parser.add_argument("--history", type=Path, help="JSON: the norms of the residual at every rank, exactly")
    parser.add_argument("--solution", type=Path, help="npy: the temperature")
    options = parser.parse_args()
    comm = MPI.COMM_WORLD
    if options.side < comm.size:
        parser.error(f"--side must be at least the number of ranks, {comm.size}, not {options.side}")
    x, history = solve(Plate(comm, options.side), tolerance=options.tolerance)
    exact = [norm.hex() for norm in history]
    histories, rows = comm.gather(exact), comm.gather(x)
    if histories is None or rows is None:
        return
    verdict = "the same" if len({tuple(each) for each in histories}) == 1 else "NOT the same"
    digest = hashlib.sha256(" ".join(exact).encode()).hexdigest()
    print(f"{len(history) - 1} steps, residual {history[-1] / history[0]:.3g}, {verdict} "
          f"at all {comm.size} ranks, sha256 {digest}")
    if options.history is not None:
        options.history.write_text(json.dumps(histories))
    if options.solution is not None:
        np.save(options.solution, np.vstack(rows))


if __name__ == "__main__":
    main()
