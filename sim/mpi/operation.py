"""MPI collective as the NICs see it: a schedule, blocks, and the ranks that bring and get each of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from firmware_models.abi.encoding import Datatype, Operator
from firmware_models.schedule.compile import ELEMENT_BYTES
from sim.mpi.wire import Collective

HOUSE_NAMES = {
    Collective.ALLREDUCE: "allreduce", Collective.REDUCE: "reduce", Collective.BCAST: "broadcast",
    Collective.BARRIER: "barrier", Collective.ALLGATHER: "allgather", Collective.ALLGATHERV: "allgather",
    Collective.REDUCE_SCATTER_BLOCK: "reduce-scatter", Collective.REDUCE_SCATTER: "reduce-scatter",
    Collective.SCATTER: "scatter", Collective.SCATTERV: "scatter", Collective.GATHER: "gather",
    Collective.GATHERV: "gather", Collective.ALLTOALL: "alltoall", Collective.SCAN: "scan", Collective.EXSCAN: "exscan",
}
"""Collectives for which there are schedules, by the names that those have."""
REDUCTIONS = frozenset({
    Collective.ALLREDUCE, Collective.REDUCE, Collective.REDUCE_SCATTER_BLOCK, Collective.REDUCE_SCATTER,
    Collective.SCAN, Collective.EXSCAN,
})
ROOTED = frozenset({
    Collective.REDUCE, Collective.BCAST, Collective.SCATTER, Collective.SCATTERV, Collective.GATHER,
    Collective.GATHERV,
})
_SUMS_OF_BLOCKS = frozenset({Collective.REDUCE_SCATTER_BLOCK, Collective.REDUCE_SCATTER})
_SCATTERS = frozenset({Collective.SCATTER, Collective.SCATTERV})
_GATHERS = frozenset({Collective.GATHER, Collective.GATHERV})
PREFIXES = frozenset({Collective.SCAN, Collective.EXSCAN})
"""Reductions some of whose results are one rank's operand."""
_ALLGATHERS = frozenset({Collective.ALLGATHER, Collective.ALLGATHERV})


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One collective of a communicator.

    Members
    -------
    collective : Collective
        MPI's.
    ranks, root : int
        Of the communicator.
    datatype, operator : Datatype, Operator
        Of the elements in hardware; bytes where data are only moved.
    sizes : tuple of int
        Bytes in hardware of each block: one block, or one for each rank.
    """

    collective: Collective
    ranks: int
    root: int
    datatype: Datatype
    operator: Operator
    sizes: tuple[int, ...]

    @property
    def n_blocks(self) -> int:
        """Blocks of the message."""
        return len(self.sizes)

    @property
    def element(self) -> int:
        """Bytes of an element."""
        return ELEMENT_BYTES[self.datatype]

    @property
    def bytes(self) -> int:
        """Bytes of all blocks."""
        return sum(self.sizes)

    def brings(self, rank: int) -> Sequence[int]:
        """Blocks that stand in the operand of `rank`, one behind the other."""
        return brought(self.collective, rank, self.root, self.ranks)

    def gets(self, rank: int) -> Sequence[int]:
        """Blocks that stand in the result of `rank`."""
        return gotten(self.collective, rank, self.root, self.ranks)


def brought(collective: Collective, rank: int, root: int, ranks: int) -> Sequence[int]:
    """Blocks that `rank` brings."""
    if collective is Collective.BARRIER:
        return ()
    if collective is Collective.BCAST:
        return (0,) if rank == root else ()
    if collective in _ALLGATHERS or collective in _GATHERS:
        return (rank,)
    if collective in _SCATTERS:
        return range(ranks) if rank == root else ()
    if collective is Collective.ALLTOALL or collective in _SUMS_OF_BLOCKS:
        return range(ranks)
    return (0,)


def gotten(collective: Collective, rank: int, root: int, ranks: int) -> Sequence[int]:
    """Blocks that `rank` gets."""
    if collective is Collective.BARRIER:
        return ()
    if collective is Collective.BCAST:
        return () if rank == root else (0,)
    if collective is Collective.REDUCE:
        return (0,) if rank == root else ()
    if collective is Collective.EXSCAN:
        return (0,) if rank else ()
    if collective in _ALLGATHERS or collective is Collective.ALLTOALL:
        return range(ranks)
    if collective in _GATHERS:
        return range(ranks) if rank == root else ()
    if collective in _SCATTERS or collective in _SUMS_OF_BLOCKS:
        return (rank,)
    return (0,)


def block_sizes(
    collective: Collective, root: int, operands: Sequence[int], results: Sequence[int]
) -> tuple[int, ...]:
    """Bytes of each block, from the bytes of operands and results of all ranks, as far as those agree."""
    ranks = len(operands)
    if collective is Collective.BARRIER:
        return (0,)
    if collective in _ALLGATHERS or collective in _GATHERS:
        return tuple(operands)
    if collective is Collective.ALLTOALL:
        return (operands[0] // ranks,) * ranks
    if collective in _SUMS_OF_BLOCKS:
        return tuple(results)
    if collective in _SCATTERS:
        sizes = list(results)
        if not results[root]:  # the root may leave its own block where it is
            sizes[root] = operands[root] - sum(results)
        return tuple(sizes)
    return (operands[root],)


def fits(collective: Collective, rank: int, root: int, sizes: Sequence[int], operand: int, result: int) -> bool:
    """True if these blocks make what `rank` brings and wants."""
    ranks = max(len(sizes), rank + 1)
    wanted = sum(sizes[block] for block in gotten(collective, rank, root, ranks))
    in_place = collective in _SCATTERS and rank == root and result == 0
    return (
        sum(sizes[block] for block in brought(collective, rank, root, ranks)) == operand
        and (wanted == result or in_place)
    )
