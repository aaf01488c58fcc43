"""The best group size of a machine, found by search."""

from dataclasses import dataclass

from firmware_models.connections.error import require
from firmware_models.connections.memory import Machine, group_queue_pairs
from firmware_models.connections.scheme import Scheme


@dataclass(frozen=True)
class GroupSize:
    """A group size and what it makes of a machine: groups, and static queue pairs of the process with the most."""

    group_size: int
    n_groups: int
    n_queue_pairs: int


def best_group_size(scheme: Scheme, machine: Machine) -> GroupSize:
    """The group size with the fewest static queue pairs, and so the fewest bytes: no other has fewer.

    Of several the largest, which has the fewest pairs of processes that need a handshake. Bytes grow with queue pairs
    whatever the sizes are, so these do not matter.

    The search goes through the numbers of groups, 1, 2, …, with the smallest groups of each: larger ones of
    the same number cost more inside and save nothing outside. It ends when the links between groups alone cost as
    much as the best so far, after about twice the square root of the number of peers.

    Raises
    ------
    ConnectionsError
        If `scheme` has no groups.

    Examples
    --------
    >>> best_group_size(Scheme.GROUP_XRC, Machine(n_processes=320_000, n_cores=4))
    GroupSize(group_size=1168, n_groups=274, n_queue_pairs=565)
    """
    require(scheme.traits.is_grouped, "scheme", "one with groups", scheme.value)
    unit = machine.n_cores if scheme.traits.has_xrc else 1
    best: GroupSize | None = None
    number = 1
    while best is None or number - 1 < best.n_queue_pairs:
        group_size = -(-machine.n_processes // (number * unit)) * unit
        found = group_queue_pairs(machine, group_size, has_xrc=scheme.traits.has_xrc)
        if best is None or found < best.n_queue_pairs:
            best = GroupSize(group_size, -(-machine.n_processes // group_size), found)
        number += 1
    return best


def group_size_curve(scheme: Scheme, machine: Machine, n_points: int = 200) -> list[GroupSize]:
    """Group sizes from the smallest to one group of all, about `n_points` of them, evenly on a logarithmic axis."""
    require(scheme.traits.is_grouped, "scheme", "one with groups", scheme.value)
    require(n_points >= 2, "n_points", "at least 2", n_points)
    unit = machine.n_cores if scheme.traits.has_xrc else 1
    n_units = -(-machine.n_processes // unit)
    chosen = sorted({max(1, round(n_units ** (place / (n_points - 1)))) for place in range(n_points)})
    return [
        GroupSize(size * unit, -(-machine.n_processes // (size * unit)),
                  group_queue_pairs(machine, size * unit, has_xrc=scheme.traits.has_xrc))
        for size in chosen
    ]
