"""Reachability under all colours at once: a word a switch holds 64 colours, and one search does for all of them."""

import numpy as np
from numba import njit

from firmware_models.routing.kernel.graph import Graph, Hops, Ints
from firmware_models.routing.kernel.tree import NONE, ONE, Words


@njit(cache=True)
def _flood(graph: Graph, source: int, colours: Words, words: Ints, height: int, near: Hops, busy: Words, got: Words,
           fresh: Words, coming: Words, queue: Ints, reached: Ints) -> int:
    """Fills ``got[s]`` with the colours in which `s` can be reached from `source` over free switches so that at least
    `near[s]` hops are left of `height`; column `w` is word ``words[w]`` of `busy`. Returns how many switches are in
    `reached`; `fresh` and `coming` are left clear."""
    n_words = len(colours)
    queue[0] = source
    n_queue = 1
    n_reached = 1
    reached[0] = source
    for w in range(n_words):
        fresh[source, w] = colours[w]
        got[source, w] = colours[w]
    for level in range(1, height + 1):
        n_next = 0
        # Switches met on this level stand in the second half of the queue until the level is done.
        offset = len(queue) // 2
        for q in range(n_queue):
            here = queue[q]
            for k in range(graph.start[here], graph.start[here + 1]):
                there = graph.to[k]
                if level + near[there] > height:
                    continue
                is_known = False
                is_coming = False
                added = NONE
                for w in range(n_words):
                    is_known |= got[there, w] != NONE
                    is_coming |= coming[there, w] != NONE
                    added |= fresh[here, w] & ~busy[there, words[w]] & ~got[there, w]
                if added == NONE:
                    continue
                for w in range(n_words):
                    coming[there, w] |= fresh[here, w] & ~busy[there, words[w]] & ~got[there, w]
                if not is_coming:
                    queue[offset + n_next] = there
                    n_next += 1
                    if not is_known:
                        reached[n_reached] = there
                        n_reached += 1
        for q in range(n_queue):
            for w in range(n_words):
                fresh[queue[q], w] = NONE
        for q in range(n_next):
            there = queue[offset + q]
            queue[q] = there
            for w in range(n_words):
                fresh[there, w] = coming[there, w]
                got[there, w] |= coming[there, w]
                coming[there, w] = NONE
        n_queue = n_next
        if n_queue == 0:
            break
    for q in range(n_queue):
        for w in range(n_words):
            fresh[queue[q], w] = NONE
    return n_reached


@njit(cache=True)
def free_colour(graph: Graph, near: Hops, from_leaves: bool, roots: Ints, leaves: Ints, extra: Hops, height: int,
                limit: int, busy: Words) -> tuple[int, int]:
    """Algorithm 3, lines ② to ⑦, for the part of G_colour that no tree uses: the lowest colour below `limit` in which
    one of `roots` reaches every leaf within `height` hops, and the first such root; (-1, -1) if there is none.

    Searches start at the leaves if `from_leaves`, else at the roots, which needs `extra` to be the same for all leaves;
    `near` holds the hops to the nearest switch of the other side.
    """
    n_switches = len(graph.start) - 1
    # Only words in which some colour is free at all leaves: in a crowded network these are few.
    words = np.empty(busy.shape[1], np.int32)
    some = np.empty(busy.shape[1], np.uint64)
    n_words = 0
    for w in range(min(busy.shape[1], (limit + 63) // 64)):
        left = ~NONE if 64 * (w + 1) <= limit else (ONE << np.uint64(limit - 64 * w)) - ONE
        for leaf in leaves:
            left &= ~busy[leaf, w]
        if left != NONE:
            words[n_words], some[n_words] = w, left
            n_words += 1
    if n_words == 0:
        return -1, -1
    colours = some[:n_words].copy()
    got = np.zeros((n_switches, n_words), np.uint64)
    fresh, coming = np.zeros_like(got), np.zeros_like(got)
    queue, reached = np.empty(2 * n_switches, np.int32), np.empty(n_switches, np.int32)
    if from_leaves:
        # From every leaf: a root is good in the colours in which all leaves reach it.
        good = np.empty((len(roots), n_words), np.uint64)
        for r in range(len(roots)):
            good[r] = colours
        for i in range(len(leaves)):
            n = _flood(graph, leaves[i], colours, words, height - extra[i], near, busy, got, fresh, coming,
                       queue, reached)
            left = NONE
            for r in range(len(roots)):
                for w in range(n_words):
                    good[r, w] &= got[roots[r], w]
                    left |= good[r, w]
            _clear(got, reached, n)
            if left == NONE:
                return -1, -1
        return _lowest(good, words, roots)
    good = np.empty((len(roots), n_words), np.uint64)
    for r in range(len(roots)):
        for w in range(n_words):
            good[r, w] = colours[w] & ~busy[roots[r], words[w]]
        n = _flood(graph, roots[r], good[r].copy(), words, height - extra[0], near, busy, got, fresh,
                   coming, queue, reached)
        for w in range(n_words):
            for leaf in leaves:
                good[r, w] &= got[leaf, w]
        _clear(got, reached, n)
    return _lowest(good, words, roots)


@njit(cache=True)
def _clear(got: Words, reached: Ints, n: int) -> None:
    for q in range(n):
        for w in range(got.shape[1]):
            got[reached[q], w] = NONE


@njit(cache=True)
def _lowest(good: Words, words: Ints, roots: Ints) -> tuple[int, int]:
    """The lowest colour that is set in any row, and the first root whose row has it."""
    for w in range(good.shape[1]):
        some = NONE
        for r in range(len(roots)):
            some |= good[r, w]
        if some != NONE:
            bit = 0
            while not some >> np.uint64(bit) & ONE:
                bit += 1
            for r in range(len(roots)):
                if good[r, w] >> np.uint64(bit) & ONE:
                    return 64 * words[w] + bit, roots[r]
    return -1, -1
