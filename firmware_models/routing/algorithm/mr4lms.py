"""MR4LMS: multicast routing for a limited size of the multicast forwarding table."""

from firmware_models.routing.algorithm.fbtc import fbtc
from firmware_models.routing.algorithm.fctb import fctb
from firmware_models.routing.algorithm.forest import Forest, Group, Tree
from firmware_models.routing.algorithm.merge import OldTrees, Partner, merge
from firmware_models.routing.algorithm.similarity import Similarity

SUCCESSES = 20
"""FCTB gives way to FBTC after so many successes in a row."""


class Mr4lms:
    """Algorithm 7: FBTC until it fails, FCTB until it has succeeded 20 times in a row; what fails is merged.

    Parameters
    ----------
    forest : Forest
    partner : Partner
        Which group a new one is merged with.
    old : OldTrees
        What becomes of the trees that are merged.

    Members
    -------
    is_building_first : bool
        True if FBTC comes next.
    successes : int
        Successes of FCTB in a row.
    """

    def __init__(self, forest: Forest, *, partner: Partner = Partner.SIMILAR, old: OldTrees = OldTrees.KEEP):
        self.forest = forest
        self.partner = partner
        self.old = old
        self.is_building_first = True
        self.successes = 0
        self._similarity = Similarity(forest)

    def route(self, group: Group) -> Tree:
        """Finds or builds the tree of a group, and enters it."""
        if self.is_building_first:
            tree = fbtc(self.forest, group)  # ①, ②
            if tree is None:
                self.is_building_first, self.successes = False, 0  # ③
        else:
            tree = fctb(self.forest, group)  # ⑤
            self.successes = 0 if tree is None else self.successes + 1
            if self.successes == SUCCESSES:
                self.is_building_first = True  # ⑥
        if tree is None:
            tree = merge(self.forest, group, partner=self.partner, old=self.old, similarity=self._similarity)  # ⑧
        return tree
