"""MR4LMS improved: fewer colours, lower EFI, and heights that are as minimal as the paper's."""

from firmware_models.routing.algorithm.fctb import lowest_colour, tree_around
from firmware_models.routing.algorithm.forest import Forest, Group, Tree
from firmware_models.routing.algorithm.merge import OldTrees, Partner, merge
from firmware_models.routing.algorithm.root import candidate_roots
from firmware_models.routing.algorithm.similarity import Similarity
from firmware_models.routing.kernel.graph import FAR, Ints
from firmware_models.routing.kernel.sculpt import sculpt
from firmware_models.routing.kernel.spread import free_switches, spread

ROOTS = 8
"""Roots that are tried for every group."""

MORE_ROOTS = 64
"""Roots that are tried where the highest EFI would rise."""


class Best:
    """Routes as the paper does, but for three things.

    - It always looks ahead: the lowest colour in which a tree of minimal height is possible at all is found first, for
      all colours at once, and the tree is built in it. FBTC builds first, and a tree of 60 switches seldom fits into a
      colour.
    - Trees have as few switches as can be had (`sculpt`): what is not used by one can be used by another, and what no
      tree passes is not loaded.
    - Of several roots it takes the one whose tree has the least loaded worst link, then the fewest switches.

    A group that fits into no colour uses a tree that reaches all its members already, if there is one, and is merged
    with others (Algorithm 4) if not.

    Parameters
    ----------
    forest, partner, old
        As for `Mr4lms`.
    """

    def __init__(self, forest: Forest, *, partner: Partner = Partner.SIMILAR, old: OldTrees = OldTrees.KEEP):
        self.forest = forest
        self.partner = partner
        self.old = old
        self._similarity = Similarity(forest)

    def route(self, group: Group) -> Tree:
        """Finds or builds the tree of a group, and enters it."""
        forest = self.forest
        roots, height = candidate_roots(forest, group.leaves, group.extra, is_full_allowed=True)
        colour, root = lowest_colour(forest, group, roots, height)
        if colour >= 0:
            forest.make_room(colour)
            switches, up = _lightest(forest, group, colour, root, roots, height)
            return forest.plant(colour=colour, switches=switches, up=up, members=group.members, groups=[group.name])
        fitting = tree_around(forest, group, roots, height, below=forest.limit)
        if fitting is not None:
            forest.admit(fitting, group.name)
            return fitting
        return merge(forest, group, partner=self.partner, old=self.old, similarity=self._similarity)


def _lightest(forest: Forest, group: Group, colour: int, root: int, roots: Ints, height: int) -> tuple[Ints, Ints]:
    """The best of the trees of one colour from `root`, which is known to do, and from the least loaded of `roots`.

    If even the best of them would raise the highest EFI of all, trees that only mind the load are tried too, from more
    roots.
    """
    free, work = free_switches(forest.busy, colour), forest.work
    levels = height - int(group.extra.max())
    best_key: tuple[int, int, int] | None = None
    switches, up = work.switches[:0], work.up[:0]

    def consider(n: int) -> None:
        nonlocal best_key, switches, up
        load = forest.load[work.up[:n][work.up[:n] >= 0]]
        key = (int(load.max(initial=0)), n, int(load.sum()))
        if n and (best_key is None or key < best_key):
            best_key, switches, up = key, work.switches[:n].copy(), work.up[:n].copy()

    others = roots[(free[roots] != 0) & (roots != root)].tolist()
    for candidate in (root, *others[:ROOTS - 1]):
        consider(sculpt(forest.graph, candidate, group.leaves, free, forest.load, forest.entries, levels, work.mark,
                        work.switches, work.up))
    highest = forest.max_efi
    if best_key is None:
        # Terminals and switches are members together: only `root`, hop by hop, is certain to do.
        candidates, levels = [root], FAR
    else:
        candidates = [root, *others[:MORE_ROOTS - 1]]
    for candidate in candidates:
        if best_key is not None and best_key[0] < highest:
            break
        consider(spread(forest.graph, candidate, group.leaves, free, forest.load, levels, work.mark, work.switches,
                        work.up))
    return switches, up
