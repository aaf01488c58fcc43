"""Long messages, and operations of several communicators at once, in exact numbers; prints nothing.

    mpiexec -n N python several.py ELEMENTS
"""

import sys

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
N = int(sys.argv[1])


def long():
    """One element more than pieces of a power of two have."""
    mine = np.arange(N + 1.0) * (RANK + 1)
    total = np.empty_like(mine)
    COMM.Allreduce(mine, total)
    assert np.array_equal(total, np.arange(N + 1.0) * (SIZE * (SIZE + 1) // 2))
    whole = mine.copy() if RANK == SIZE - 1 else np.empty_like(mine)
    COMM.Bcast(whole, root=SIZE - 1)
    assert np.array_equal(whole, np.arange(N + 1.0) * SIZE)
    gathered = np.empty((SIZE, N + 1))
    COMM.Allgather(mine, gathered)
    assert np.array_equal(gathered, np.outer(np.arange(1, SIZE + 1), np.arange(N + 1.0)))
    swapped = np.empty_like(gathered)
    COMM.Alltoall(gathered * (RANK + 1), swapped)
    assert np.array_equal(swapped, np.outer(np.arange(1, SIZE + 1) * (RANK + 1), np.arange(N + 1.0)))
    share = np.empty(N + 1)
    COMM.Reduce_scatter_block(gathered, share)
    assert np.array_equal(share, SIZE * mine)
    before = np.full(N + 1, -1.0)
    COMM.Exscan(mine, before)
    assert np.array_equal(before, np.arange(N + 1.0) * (RANK * (RANK + 1) // 2) if RANK else np.full(N + 1, -1.0))


def several():
    """Five communicators, an operation of each under way."""
    halves = COMM.Split(RANK % 2, RANK)
    comms = [COMM, COMM.Dup(), COMM.Dup(), COMM.Dup(), halves]
    sums = [np.zeros(N) for _ in comms]
    requests = [comm.Iallreduce(np.full(N, 1.0 + turn), sums[turn]) for turn, comm in enumerate(comms)]
    MPI.Request.Waitall(requests)
    for turn, comm in enumerate(comms):
        assert np.array_equal(sums[turn], np.full(N, comm.size * (1.0 + turn)))
    for comm in comms[1:]:
        comm.Free()


long()
several()
