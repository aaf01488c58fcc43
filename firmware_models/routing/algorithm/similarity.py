"""Which tree is most like a group (Equation 1), kept up to date as trees come and go."""

import numpy as np

from firmware_models.routing.algorithm.forest import Forest, Tree
from firmware_models.routing.kernel.graph import Hops, Ints, nearest
from firmware_models.routing.kernel.similarity import distances


class Similarity:
    """Distances of groups to the trees of a forest.

    Distances are hops between the members' switches. Of every tree it keeps the hops from every switch to the nearest
    member, one byte each, so that a group's distance to all trees takes one pass over arrays.
    """

    def __init__(self, forest: Forest):
        self._forest = forest
        self._numbers: list[int] = []
        self._row_of: dict[int, int] = {}
        self._near: Hops = np.zeros((64, forest.network.n_switches), dtype=np.uint8)
        self._start = np.zeros(64, dtype=np.int32)
        self._count = np.zeros(64, dtype=np.int32)
        self._alive = np.zeros(64, dtype=np.uint8)
        self._leaves = np.zeros(4096, dtype=np.int32)
        self._used = 0

    def most_similar(self, members: Ints) -> Tree:
        """Algorithm 4, line ①: the tree with the least distance to a group; the oldest of several."""
        self._catch_up()
        forest = self._forest
        leaves = forest.network.attach[members]
        near = nearest(forest.hops, np.unique(leaves))
        n = len(self._numbers)
        found = distances(self._near[:n], self._alive[:n], self._start, self._count, self._leaves, near, leaves)
        return forest.trees[self._numbers[int(found.argmin())]]

    def _catch_up(self) -> None:
        """Forgets trees that were felled, takes in those that are new."""
        trees = self._forest.trees
        for number in self._row_of.keys() - trees.keys():
            self._alive[self._row_of.pop(number)] = 0
        if 2 * len(self._row_of) + 64 < len(self._numbers):
            # More than half of the rows are dead: begin anew, so that a pass stays short.
            self._numbers, self._row_of, self._used = [], {}, 0
            self._alive[:] = 0
        # Numbers only grow, so what is new stands at the end.
        new = []
        last = self._numbers[-1] if self._numbers else -1
        for number in reversed(trees):
            if number <= last:
                break
            new.append(number)
        for number in reversed(new):
            self._take_in(trees[number])

    def _take_in(self, tree: Tree) -> None:
        row, forest = len(self._numbers), self._forest
        leaves = forest.network.attach[tree.members]
        if row == len(self._alive):
            self._near = np.pad(self._near, ((0, row), (0, 0)))
            self._start, self._count = np.pad(self._start, (0, row)), np.pad(self._count, (0, row))
            self._alive = np.pad(self._alive, (0, row))
        while self._used + len(leaves) > len(self._leaves):
            self._leaves = np.pad(self._leaves, (0, len(self._leaves)))
        self._near[row] = nearest(forest.hops, np.unique(leaves))
        self._leaves[self._used:self._used + len(leaves)] = leaves
        self._start[row], self._count[row], self._alive[row] = self._used, len(leaves), 1
        self._used += len(leaves)
        self._numbers.append(tree.number)
        self._row_of[tree.number] = row
