"""The fold that brings any number of ranks to a power of two, and other arithmetic on ranks and blocks."""


class Fold:
    """Pairs of ranks that act as one, so that a power of two of places remain.

    Of n = p + r ranks the first 2r make r pairs (2i, 2i + 1); one of each pair survives and speaks for both.

    Parameters
    ----------
    n_nodes : int
        Ranks.
    survivor : int
        0: the even rank of a pair survives; 1: the odd one.
    kept : int, optional
        A rank that survives in any case.

    Members
    -------
    places : int
        p, the largest power of two that is no more than n.
    extra : int
        r.
    """

    def __init__(self, n_nodes: int, *, survivor: int, kept: int | None = None):
        self.places = power_below(n_nodes)
        self.extra = n_nodes - self.places
        self._survivor, self._kept = survivor, kept

    @property
    def rounds(self) -> int:
        """Binary logarithm of `places`."""
        return self.places.bit_length() - 1

    def rank(self, place: int) -> int:
        """The rank that survives at `place`."""
        if place >= self.extra:
            return place + self.extra
        if self._kept is not None and self._kept // 2 == place:
            return self._kept
        return 2 * place + self._survivor

    def place(self, rank: int) -> int:
        """The place of `rank`, or of the pair it belongs to."""
        return rank // 2 if rank < 2 * self.extra else rank - self.extra

    def partner(self, rank: int) -> int | None:
        """The other rank of the pair of `rank`; None if it is in no pair."""
        return rank ^ 1 if rank < 2 * self.extra else None

    def span(self, first: int, count: int) -> tuple[int, int]:
        """Ranks that `count` places from `first` speak for, as (first, count)."""
        low, high = (2 * p if p < self.extra else p + self.extra for p in (first, first + count))
        return low, high - low


def power_below(number: int) -> int:
    """The largest power of two that is no more than `number`.

    Examples
    --------
    >>> [power_below(number) for number in (1, 5, 8)]
    [1, 4, 8]
    """
    return 1 << (number.bit_length() - 1)


def runs(first: int, count: int, n_nodes: int) -> list[tuple[int, int]]:
    """The cyclic range of `count` blocks from `first`, in one or two pieces that do not wrap.

    Examples
    --------
    >>> runs(4, 3, 6)
    [(4, 2), (0, 1)]
    """
    before = min(count, n_nodes - first)
    return [(first, before)] + ([(0, count - before)] if count > before else [])


def kept_blocks(place: int, round_: int, rounds: int) -> tuple[int, int]:
    """Blocks that `place` keeps after `round_` rounds of halving with distances 1, 2, 4, …

    Examples
    --------
    >>> kept_blocks(1, 1, 3)
    (4, 4)
    """
    first, count = 0, 1 << rounds
    for k in range(round_):
        count //= 2
        first += count * (place >> k & 1)
    return first, count
