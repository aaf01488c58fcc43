"""Results by definition: each algorithm's order of operands, written down directly and not by way of its schedule.

A reduction is a binary tree of additions over the ranks; each function here builds that tree by recursion. Results in
floating point depend on the tree, so each algorithm has its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from firmware_models.abi.encoding import Datatype, Operator

from .arithmetic import combine, dtype_of

Array = npt.NDArray[Any]
Fold = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Reference:
    """Expected result of an operation.

    Members
    -------
    results : array
        Row r is the result of rank r; rows of ranks that receive none are zero, and so are blocks that a rank
        does not receive.
    receives : array of bool
        Which ranks receive a result.
    """

    results: Array
    receives: npt.NDArray[np.bool_]


def _broadcast(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    return dict.fromkeys(range(len(inputs)), inputs[root])


def _reduce_binomial(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    """A subtree of 2**k ranks is folded from subtrees of 1, 2, 4, … ranks, after the rank's own data."""
    n = len(inputs)

    def subtree(relative: int, span: int) -> Array:
        result: Array = inputs[(relative + root) % n]
        size = 1
        while size < span and relative + size < n:
            result = fold(result, subtree(relative + size, size))
            size *= 2
        return result

    return {root: subtree(0, 1 << (n - 1).bit_length())}


def _allreduce_recursive_doubling(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    """A balanced tree over 2**k leaves; of n = 2**k + r ranks the first 2r make the first r leaves, in pairs."""
    n = len(inputs)
    n_leaves = 1 << (n.bit_length() - 1)
    n_pairs = n - n_leaves
    leaves = [fold(inputs[2 * i], inputs[2 * i + 1]) for i in range(n_pairs)] + list(inputs[2 * n_pairs :])

    def balanced(low: int, high: int) -> Array:
        if high - low == 1:
            leaf: Array = leaves[low]
            return leaf
        middle = (low + high) // 2
        return fold(balanced(low, middle), balanced(middle, high))

    return dict.fromkeys(range(n), balanced(0, n_leaves))


def _allreduce_reduce_multicast(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    """The sum of the binomial reduction to rank 0."""
    return dict.fromkeys(range(len(inputs)), _reduce_binomial(inputs, 0, fold)[0])


def block_bounds(elements: int, blocks: int) -> list[tuple[int, int]]:
    """First element of each block and the one behind its last: blocks of ceil(elements / blocks), then shorter ones.

    Examples
    --------
    >>> block_bounds(7, 5)
    [(0, 2), (2, 4), (4, 6), (6, 7), (7, 7)]
    """
    size = -(-elements // blocks)
    return [(min(b * size, elements), min((b + 1) * size, elements)) for b in range(blocks)]


def _allreduce_ring(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    """Block b is summed along the ring, from rank b + 1 to rank b."""
    n = len(inputs)
    whole = np.zeros_like(inputs[0])
    for b, (low, high) in enumerate(block_bounds(inputs.shape[1], n)):
        total = inputs[(b + 1) % n, low:high]
        for distance in range(2, n + 1):
            total = fold(inputs[(b + distance) % n, low:high], total)
        whole[low:high] = total
    return dict.fromkeys(range(n), whole)


def _reduce_rabenseifner(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    """The tree of recursive doubling, whatever the root: pairs of neighbours, then distances 1, 2, 4, …"""
    return {root: _allreduce_recursive_doubling(inputs, root, fold)[0]}


def _own_block(whole: Array) -> dict[int, Array]:
    """Row r of `whole`, of which rank r gets block r and nothing else."""
    found: dict[int, Array] = {}
    for rank, (low, high) in enumerate(block_bounds(whole.shape[1], len(whole))):
        found[rank] = np.zeros_like(whole[rank])
        found[rank][low:high] = whole[rank, low:high]
    return found


def _reduce_scatter_halving(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    """Neighbours among the first 2r ranks make one leaf; then halves are laid over each other."""
    n = len(inputs)
    n_leaves = 1 << (n.bit_length() - 1)
    extra = n - n_leaves
    pairs = fold(inputs[0 : 2 * extra : 2], inputs[1 : 2 * extra : 2])
    leaves: Array = np.concatenate([pairs, inputs[2 * extra :]])
    while len(leaves) > 1:
        leaves = fold(leaves[: len(leaves) // 2], leaves[len(leaves) // 2 :])
    return _own_block(np.repeat(leaves, n, axis=0))


def _reduce_scatter_pairwise(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    """Own data, then those of ranks r - 1, r - 2, …"""
    total = inputs
    for distance in range(1, len(inputs)):
        total = fold(total, np.roll(inputs, distance, axis=0))
    return _own_block(total)


def _gathered(inputs: Array) -> Array:
    """Block r of row r."""
    whole: Array = np.zeros_like(inputs[0])
    for rank, (low, high) in enumerate(block_bounds(inputs.shape[1], len(inputs))):
        whole[low:high] = inputs[rank, low:high]
    return whole


def _allgather(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    return dict.fromkeys(range(len(inputs)), _gathered(inputs))


def _gather(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    return {root: _gathered(inputs)}


def _scatter(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    return _own_block(np.repeat(inputs[root : root + 1], len(inputs), axis=0))


def _alltoall(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    """Block s of rank r is block r of rank s; all blocks are equal."""
    n = len(inputs)
    swapped = inputs.reshape(n, n, -1).swapaxes(0, 1).reshape(inputs.shape)
    return dict(enumerate(swapped))


def _scan(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    """Each rank adds what the rank 1, 2, 4, … before it has so far."""
    sums, distance = inputs.copy(), 1
    while distance < len(inputs):
        sums[distance:] = fold(sums[distance:], sums[:-distance])
        distance *= 2
    return dict(enumerate(sums))


def _exscan(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    """Rank r gets what the scan gives to rank r - 1 of all but the last rank; rank 0 gets nothing."""
    return {rank + 1: total for rank, total in _scan(inputs[:-1], root, fold).items()}


def _barrier(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    return {}


_definitions: dict[tuple[str, str], Callable[[Array, int, Fold], dict[int, Array]]] = {
    ("broadcast", "binomial"): _broadcast,
    ("reduce", "binomial"): _reduce_binomial,
    ("allreduce", "recursive-doubling"): _allreduce_recursive_doubling,
    ("broadcast", "double-binary-tree"): _broadcast,
    ("broadcast", "multicast"): _broadcast,
    ("allreduce", "reduce-multicast"): _allreduce_reduce_multicast,
    ("barrier", "multicast"): _barrier,
    ("reduce", "rabenseifner"): _reduce_rabenseifner,
    ("allreduce", "rabenseifner"): _allreduce_recursive_doubling,
    ("allreduce", "ring"): _allreduce_ring,
    ("barrier", "dissemination"): _barrier,
    ("barrier", "tree"): _barrier,
    ("allgather", "ring"): _allgather,
    ("allgather", "recursive-doubling"): _allgather,
    ("reduce-scatter", "halving"): _reduce_scatter_halving,
    ("reduce-scatter", "pairwise"): _reduce_scatter_pairwise,
    ("scatter", "binomial"): _scatter,
    ("gather", "binomial"): _gather,
    ("alltoall", "pairwise"): _alltoall,
    ("scan", "distance-doubling"): _scan,
    ("exscan", "distance-doubling"): _exscan,
}


def reference(
    collective: str, algorithm: str, inputs: Array, *, root: int = 0, datatype: int = Datatype.FLOAT64,
    operator: int = Operator.SUM,
) -> Reference:
    """The results that `algorithm` prescribes, bit for bit.

    Parameters
    ----------
    collective, algorithm : str
        Names as in the schedule registry.
    inputs : array of shape (n_nodes, elements)
        Row r is the data of rank r, of type ``dtype_of(datatype)``.
    root : int
        Rank of the root.
    datatype, operator : int
        Of the reduction.

    Raises
    ------
    ValueError
        If there is no such definition, or the array's shape or type is wrong.

    Notes
    -----
    Data that are moved but not computed with keep all their bits, NaN payloads too. Sums and products are commutative
    bit for bit here, so the order within a pair does not matter, only the tree does: it is that of MPICH's algorithm of
    the same name.
    """
    if (collective, algorithm) not in _definitions:
        known = ", ".join(" ".join(names) for names in _definitions)
        raise ValueError(f"collective and algorithm must be one of {known}, not {collective} {algorithm}")
    if inputs.ndim != 2 or inputs.dtype != dtype_of(datatype):
        wanted = f"of shape (nodes, elements) and type {dtype_of(datatype)}"
        raise ValueError(f"inputs must be {wanted}, not {inputs.shape} {inputs.dtype}")
    results = np.zeros_like(inputs)
    receives = np.zeros(len(inputs), np.bool_)
    found = _definitions[collective, algorithm](
        inputs, root, lambda a, b: combine(a, b, datatype=datatype, operator=operator)
    )
    for rank, result in found.items():
        results[rank], receives[rank] = result, True
    return Reference(results, receives)
