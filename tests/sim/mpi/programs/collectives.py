"""Every collective that the NICs carry out, compared with NumPy; prints nothing unless something differs.

    mpiexec -n N python collectives.py
"""

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
OPS = {
    "sum": (MPI.SUM, np.add), "max": (MPI.MAX, np.maximum), "min": (MPI.MIN, np.minimum),
    "prod": (MPI.PROD, np.multiply), "and": (MPI.BAND, np.bitwise_and), "xor": (MPI.BXOR, np.bitwise_xor),
}


def expect(got, wanted, what):
    assert got.dtype == wanted.dtype
    assert got.tobytes() == wanted.tobytes(), f"rank {RANK}, {what}: {got}, not {wanted}"


def rows(kind, count):
    return [(np.arange(count) * (rank + 3) + rank + 1).astype(kind) for rank in range(SIZE)]


def reductions(kind, count, *names):
    data = rows(kind, count)
    for name in names:
        op, function = OPS[name]
        wanted = function.reduce(data, dtype=data[0].dtype)
        got = np.zeros_like(wanted)
        COMM.Allreduce(data[RANK], got, op)
        expect(got, wanted, f"allreduce {name}")
        got = data[RANK].copy()
        COMM.Allreduce(MPI.IN_PLACE, got, op)
        expect(got, wanted, f"allreduce {name} in place")
        got = np.zeros_like(wanted)
        COMM.Reduce(data[RANK], got, op, root=SIZE - 1)
        expect(got, wanted if RANK == SIZE - 1 else np.zeros_like(wanted), f"reduce {name}")
        COMM.Scan(data[RANK], got, op)
        expect(got, function.reduce(data[: RANK + 1], dtype=data[0].dtype), f"scan {name}")
        got = np.full_like(wanted, 77)
        COMM.Exscan(data[RANK], got, op)
        before = function.reduce(data[:RANK], dtype=data[0].dtype) if RANK else np.full_like(wanted, 77)
        expect(got, before, f"exscan {name}")
        blocks = np.stack([row + np.array(RANK, row.dtype) for row in data])
        COMM.Reduce_scatter_block(blocks, got, op)
        mine = [data[RANK] + np.array(rank, blocks.dtype) for rank in range(SIZE)]
        expect(got, function.reduce(mine, dtype=blocks.dtype), f"reduce-scatter {name}")


def truths(kind, mpi_kind=None):
    """Operators on truth values: whatever is not zero is true, and results are 0 or 1."""
    data = [(np.arange(11) * (rank + 5) % 3 * 40).astype(kind) for rank in range(SIZE)]
    for op, function in ((MPI.LAND, np.logical_and), (MPI.LOR, np.logical_or), (MPI.LXOR, np.logical_xor)):
        got = np.zeros_like(data[0])
        COMM.Allreduce([data[RANK], mpi_kind] if mpi_kind else data[RANK], [got, mpi_kind] if mpi_kind else got, op)
        expect(got, function.reduce(data).astype(kind), f"{op} of {kind}")


def moves(kind, count):
    data = rows(kind, count)
    whole = np.stack(data)
    got = data[1].copy() if RANK == 1 else np.zeros_like(data[1])
    COMM.Bcast(got, root=1)
    expect(got, data[1], "broadcast")
    got = np.zeros_like(whole)
    COMM.Allgather(data[RANK], got)
    expect(got, whole, "allgather")
    got = np.zeros_like(whole)
    got[RANK] = data[RANK]
    COMM.Allgather(MPI.IN_PLACE, got)
    expect(got, whole, "allgather in place")
    got = np.zeros_like(whole)
    COMM.Gather(data[RANK], got, root=1)
    expect(got, whole if RANK == 1 else np.zeros_like(whole), "gather")
    got = np.zeros_like(data[0])
    COMM.Scatter(whole if RANK == 1 else None, got, root=1)
    expect(got, data[RANK], "scatter")
    COMM.Scatter(whole, MPI.IN_PLACE if RANK == 1 else got, root=1)
    got = np.zeros_like(whole)
    COMM.Alltoall(np.roll(whole, RANK), got)
    expect(got, np.stack([np.roll(whole, rank)[RANK] for rank in range(SIZE)]), "alltoall")
    COMM.Barrier()


def vectors():
    """A count for each rank."""
    counts = [rank + 1 for rank in range(SIZE)]
    parts = [np.arange(count) + 10.0 * rank for rank, count in enumerate(counts)]
    mine, whole = parts[RANK], np.concatenate(parts)
    got = np.zeros_like(whole)
    COMM.Allgatherv(mine, [got, counts])
    expect(got, whole, "allgatherv")
    got = np.zeros_like(whole)
    COMM.Gatherv(mine, [got, counts] if RANK == 1 else None, root=1)
    expect(got, whole if RANK == 1 else np.zeros_like(whole), "gatherv")
    got = np.zeros_like(mine)
    COMM.Scatterv([whole, counts] if RANK == 0 else None, got)
    expect(got, mine, "scatterv")
    COMM.Reduce_scatter(whole, got, counts)
    expect(got, SIZE * mine, "reduce-scatter of unequal blocks")
    gathered, sums = np.zeros_like(whole), np.zeros_like(mine)
    MPI.Request.Waitall([COMM.Iallgatherv(mine, [gathered, counts]), COMM.Ireduce_scatter(whole, sums, counts)])
    expect(gathered, whole, "iallgatherv")
    expect(sums, SIZE * mine, "ireduce-scatter")
    COMM.Alltoallv([whole, counts], [np.zeros(SIZE * counts[RANK]), [counts[RANK]] * SIZE])


def columns():
    """A derived type: every other element of every third row."""
    matrix = np.arange(60, dtype="d").reshape(6, 10) * (RANK + 1)
    kind = MPI.DOUBLE.Create_vector(2, 5, 30).Create_resized(0, 8)
    kind.Commit()
    got = np.zeros((SIZE, 10))
    COMM.Allgather([matrix, 1, kind], [got, 10, MPI.DOUBLE])
    mine = np.concatenate([matrix[0, :5], matrix[3, :5]]) / (RANK + 1)
    expect(got, np.stack([mine * (rank + 1) for rank in range(SIZE)]), "columns")
    kind.Free()


def places():
    kind = np.dtype([("value", "d"), ("index", "i")], align=True)
    mine, got = np.zeros(3, kind), np.zeros(3, kind)
    mine["value"], mine["index"] = [RANK, -RANK, 5.0], RANK
    COMM.Allreduce([mine, 3, MPI.DOUBLE_INT], [got, 3, MPI.DOUBLE_INT], MPI.MINLOC)
    assert list(got["index"]) == [0, SIZE - 1, 0]
    for value, mpi_kind in (("f", MPI.FLOAT_INT), ("i", MPI.TWOINT)):
        kind = np.dtype([("value", value), ("index", "i")])
        mine, got = np.zeros(3, kind), np.zeros(3, kind)
        mine["value"], mine["index"] = [RANK - 7, -RANK, 5], RANK
        COMM.Allreduce([mine, 3, mpi_kind], [got, 3, mpi_kind], MPI.MAXLOC)
        assert list(got["value"]) == [SIZE - 8, 0, 5]
        assert list(got["index"]) == [SIZE - 1, 0, 0]


def nonblocking():
    """Several under way on one communicator, one of them left to MPI, and a message between ranks amid them."""
    ones, sums, maxima, products = np.ones(5), np.zeros(5), np.zeros(5), np.zeros(5)
    twos, ranks = 2 * ones, RANK * ones
    whole = np.arange(3000.0) if RANK == 0 else np.zeros(3000)
    own = MPI.Op.Create(lambda a, b, _kind: np.copyto(np.frombuffer(b), np.frombuffer(a) * np.frombuffer(b)))
    requests = [COMM.Iallreduce(ones, sums), COMM.Ibcast(whole), COMM.Iallreduce(twos, products, own)]
    if RANK == 0:
        COMM.send("before", dest=1)
    if RANK == 1:
        assert COMM.recv(source=0) == "before"
    requests += [COMM.Iallreduce(ranks, maxima, MPI.MAX), COMM.Ibarrier()]
    requests.pop(0).Wait()
    expect(sums, ones * SIZE, "iallreduce")
    MPI.Request.Waitall(requests)
    expect(whole, np.arange(3000.0), "ibcast")
    expect(products, ones * 2**SIZE, "iallreduce by an operator of its own")
    expect(maxima, ones * (SIZE - 1), "iallreduce")
    own.Free()


def communicators():
    """Many of them, one after the other and nested, of changing ranks."""
    for turn in range(6):
        half = COMM.Split((RANK + turn) % 2 if SIZE > 2 else 0, -RANK)
        copy = half.Dup()
        for each in (half, copy, COMM):
            assert each.allreduce(1) == each.size
            got = np.zeros(1)
            each.Allreduce(np.ones(1), got)
            assert got[0] == each.size
        copy.Free()
        half.Free()
    COMM.Allreduce(np.zeros(0), np.zeros(0))
    MPI.COMM_SELF.Barrier()


for kind in "dl":
    reductions(kind, 9, "sum", "max", "prod")
reductions("f", 1, "sum", "min")
reductions("i", 40, "sum", "xor")
reductions("B", 13, "and")
for kind in "bBhHIL":
    reductions(kind, 21, "sum", "prod", "min", "max")
for kind in "bIl?":
    truths(kind)
for kind, count in (("d", 3), ("b", 7), ("d", 300)):
    moves(kind, count)
vectors()
columns()
places()
nonblocking()
communicators()
