"""Persistent collectives: made once, started again and again, in another order at each rank; prints nothing.

    mpiexec -n N python persistent.py
"""

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
TURNS = 4

mine, sums = np.zeros(40), np.zeros(40)
whole = np.zeros(700)
counts = [rank + 1 for rank in range(SIZE)]
part, parts = np.zeros(RANK + 1, "i"), np.zeros(sum(counts), "i")
longs, before = np.zeros(3, "l"), np.full(3, -1)
products = np.zeros(40)
own = MPI.Op.Create(lambda a, b, _kind: np.copyto(np.frombuffer(b), np.frombuffer(a) * np.frombuffer(b)))
requests = [
    COMM.Allreduce_init(mine, sums), COMM.Bcast_init(whole, root=SIZE - 1), COMM.Allgatherv_init(part, [parts, counts]),
    COMM.Exscan_init(longs, before, MPI.MAX), COMM.Barrier_init(), COMM.Allreduce_init(mine, products, own),
    COMM.Alltoallv_init([np.zeros(SIZE), [1] * SIZE], [np.zeros(SIZE), [1] * SIZE]),
]
for request in requests:  # nothing is under way: nothing to wait for
    request.Wait()
assert requests[0].Test()

for turn in range(TURNS):
    mine[:] = np.arange(40) + RANK + turn + 1
    whole[:] = np.arange(700) * turn if RANK == SIZE - 1 else -1
    part[:] = 10 * RANK + turn
    longs[:] = RANK * turn
    shift = (RANK + turn) % len(requests)
    if turn % 2:
        MPI.Prequest.Startall(requests[shift:] + requests[:shift])
    else:
        for request in requests[shift:] + requests[:shift]:
            request.Start()
    if turn == 0:
        MPI.Prequest.Waitall(requests)
    elif turn == 1:
        assert sorted(MPI.Prequest.Waitany(requests) for _ in requests) == list(range(len(requests)))
        assert MPI.Prequest.Waitany(requests) == MPI.UNDEFINED
    elif turn == 2:
        for request in requests:
            while not request.Test():
                pass
    else:
        done = 0
        while done < len(requests):
            done += len(MPI.Prequest.Waitsome(requests))
    columns = [np.arange(40) + rank + turn + 1 for rank in range(SIZE)]
    assert np.array_equal(sums, np.add.reduce(columns)), (turn, sums)
    assert np.array_equal(products, np.multiply.reduce(columns)), (turn, products)
    assert np.array_equal(whole, np.arange(700) * turn)
    assert np.array_equal(parts, np.concatenate([np.full(n, 10 * rank + turn) for rank, n in enumerate(counts)]))
    assert np.array_equal(before, np.full(3, (RANK - 1) * turn if RANK else -1)), (turn, before)

for request in requests:
    request.Free()
    assert request == MPI.REQUEST_NULL
again = COMM.Allreduce_init(mine, sums, MPI.MIN)
again.Start()
again.Wait()
again.Free()
assert np.array_equal(sums, np.arange(40) + TURNS)
alone = MPI.COMM_SELF.Barrier_init()
for _ in range(3):
    alone.Start()
    alone.Wait()
alone.Free()
