"""Phases of a trace that says what depends on what: how many messages have to come before."""

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]


def levels(n_operations: int, before: Ints, after: Ints, weight: Ints) -> Ints:
    """The longest way to each operation of an acyclic graph.

    Parameters
    ----------
    n_operations : int
        Operations are 0 to n_operations - 1.
    before, after, weight : array of int64, shape (n_edges,)
        `after` waits for `before`, and comes `weight` levels later.

    Returns
    -------
    array of int64, shape (n_operations,)
        Levels from 0; -1 for operations on a cycle and behind one, which can never begin.
    """
    order = np.argsort(before, kind="stable")
    start = np.zeros(n_operations + 1, np.int64)
    np.cumsum(np.bincount(before, minlength=n_operations), out=start[1:])
    waiting = np.bincount(after, minlength=n_operations).astype(np.int64)
    found: Ints = _levels(start, after[order], weight[order], waiting)
    return found


@njit(cache=True)
def _levels(start: Ints, after: Ints, weight: Ints, waiting: Ints) -> Ints:
    n = len(start) - 1
    level = np.zeros(n, np.int64)
    ready = np.empty(n, np.int64)
    n_ready = 0
    for operation in range(n):
        if waiting[operation] == 0:
            ready[n_ready] = operation
            n_ready += 1
    done = 0
    while done < n_ready:
        operation = ready[done]
        done += 1
        for edge in range(start[operation], start[operation + 1]):
            other = after[edge]
            level[other] = max(level[other], level[operation] + weight[edge])
            waiting[other] -= 1
            if waiting[other] == 0:
                ready[n_ready] = other
                n_ready += 1
    for operation in range(n):
        if waiting[operation] > 0:
            level[operation] = -1
    return level
