"""What each rank of MPICH runs; rank 0 prints all histories.

    mpiexec -n N python -m sim.example.mpi_program SIDE
"""

import json
import sys

import numpy as np
from mpi4py import MPI

from sim.example.conjugate_gradient import Answer, Halo, Problem, Sum, Wish, solve


def main(side: int) -> None:
    """Runs the rank's program with MPI's collectives."""
    comm = MPI.COMM_WORLD
    program = solve(Problem(side, comm.size), comm.rank)
    answer: Answer | None = None
    while True:
        try:
            wish = next(program) if answer is None else program.send(answer)
        except StopIteration as end:
            histories = comm.gather(end.value, root=0)
            break
        answer = _answer(comm, wish)
    if histories is not None:
        print(json.dumps([[value.hex() for value in history] for history in histories]))


def _answer(comm: MPI.Intracomm, wish: Wish) -> Answer:
    if isinstance(wish, Sum):
        total = np.empty_like(wish.values)
        comm.Allreduce(wish.values, total, op=MPI.SUM)
        return total
    assert isinstance(wish, Halo)
    # At the border there is nobody: what is to be received stays zero.
    up = comm.rank - 1 if comm.rank else MPI.PROC_NULL
    down = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
    before, after = np.zeros_like(wish.first), np.zeros_like(wish.last)
    comm.Sendrecv(wish.last, dest=down, recvbuf=before, source=up)
    comm.Sendrecv(wish.first, dest=up, recvbuf=after, source=down)
    return before, after


if __name__ == "__main__":
    main(int(sys.argv[1]))
