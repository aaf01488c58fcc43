"""Multicast groups: who wants to hear whom."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firmware_models.routing.network.error import RoutingError

FIRST_MLID = 0xC000
"""Multicast LIDs begin here: colour `c` of a dump is MLID ``FIRST_MLID + c``."""

MAX_MLIDS = 0x4000
"""InfiniBand has 16,384 multicast LIDs, the last of which is reserved."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of endpoints (see `Network`), in the order in which they come.

    Members
    -------
    names : tuple of str
        Name of every group; no two are the same.
    members : tuple of arrays of int32
        Endpoints of every group, ascending, each once.
    mlids : tuple of int, optional
        The MLID that a subnet manager had given to every group, where the groups come from one.
    """

    names: tuple[str, ...]
    members: tuple[npt.NDArray[np.int32], ...]
    mlids: tuple[int, ...] | None = None

    @staticmethod
    def of(
        members: Iterable[npt.ArrayLike], *, names: Sequence[str] | None = None, mlids: Sequence[int] | None = None,
    ) -> "Groups":
        """Groups with `members`, sorted and without repetition; named by their number unless `names` are given.

        Raises
        ------
        RoutingError
            If two groups have one name.

        Examples
        --------
        >>> Groups.of([[2, 0, 2], [1]]).members[0].tolist()
        [0, 2]
        """
        arrays = tuple(np.unique(np.asarray(group, dtype=np.int32)) for group in members)
        called = tuple(names) if names is not None else tuple(str(number) for number in range(len(arrays)))
        seen: set[str] = set()
        for name in called:
            if name in seen:
                raise RoutingError(f"group name must be used once, not twice: {name!r}")
            seen.add(name)
        return Groups(called, arrays, None if mlids is None else tuple(mlids))

    def __len__(self) -> int:
        return len(self.members)

    @property
    def memberships(self) -> int:
        """Members of all groups together."""
        return sum(map(len, self.members))
