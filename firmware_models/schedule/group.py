"""Multicast groups as descriptors address them."""

from collections.abc import Iterable
from dataclasses import dataclass

from firmware_models.abi.formats import FIRST_MLID, MEMBER_BITS, MLID_BITS, NODE_BITS

from .error import ScheduleError, require

MAX_RECEIVERS = (1 << MEMBER_BITS) - 1
"""Receivers of one multicast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MulticastGroup:
    """A group that the NICs of its members have joined, and whose tree the switches know.

    Members
    -------
    mgid : int
        Number of the group.
    mlid : int
        Colour of its tree, from 0xC000.
    node_ids : frozenset of int
        NodeIDs of its members, senders included.
    """

    mgid: int
    mlid: int
    node_ids: frozenset[int]

    def __post_init__(self) -> None:
        require(0 <= self.mgid < 1 << NODE_BITS, "mgid", f"0 to {(1 << NODE_BITS) - 1}", self.mgid)
        require(FIRST_MLID <= self.mlid < 1 << MLID_BITS, "mlid", f"{FIRST_MLID} to {(1 << MLID_BITS) - 1}", self.mlid)
        require(
            2 <= len(self.node_ids) <= MAX_RECEIVERS + 1, "members of a group", f"2 to {MAX_RECEIVERS + 1}",
            len(self.node_ids),
        )


def group_of(groups: Iterable[MulticastGroup], node_ids: frozenset[int]) -> MulticastGroup:
    """The group with just these members.

    Raises
    ------
    ScheduleError
        If there is none.
    """
    for group in groups:
        if group.node_ids == node_ids:
            return group
    raise ScheduleError(f"groups must hold one of NodeIDs {', '.join(map(str, sorted(node_ids)))}: there is none")
