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
    """What an operation must give.

    Members
    -------
    results : array
        Row r is the result of rank r; rows of ranks that receive none are zero.
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


def _barrier(inputs: Array, root: int, fold: Fold) -> dict[int, Array]:
    return {}


_definitions: dict[tuple[str, str], Callable[[Array, int, Fold], dict[int, Array]]] = {
    ("broadcast", "binomial"): _broadcast,
    ("reduce", "binomial"): _reduce_binomial,
    ("allreduce", "recursive-doubling"): _allreduce_recursive_doubling,
    ("barrier", "dissemination"): _barrier,
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
