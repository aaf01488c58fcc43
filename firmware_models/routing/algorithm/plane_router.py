"""Routes a fabric of several planes: each as a network of its own, its colours too, into one set of tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firmware_models.routing.algorithm.check import violations
from firmware_models.routing.algorithm.measure import Progress, figures_of, measure, prepare, silent
from firmware_models.routing.algorithm.router import Options, Router
from firmware_models.routing.algorithm.saved import save_router
from firmware_models.routing.network import ForwardingTables, Groups, Network, Plane, RoutingError
from firmware_models.routing.network.plane import groups_by_plane, planes_of


@dataclass
class RoutedPlanes:
    """Planes with their routers, and what routing took, as :class:`~firmware_models.routing.algorithm.Measured`.

    Planes on which no group lives have no router.
    """

    network: Network
    routers: list[tuple[Plane, Router]]
    n_planes: int
    seconds: float
    cpu_seconds: float
    compile_seconds: float
    hops_seconds: float
    violations: list[str]

    @property
    def options(self) -> Options:
        """Of all routers."""
        return self.routers[0][1].options

    @property
    def bytes(self) -> int:
        """Memory of the arrays."""
        return sum(router.forest.bytes for _, router in self.routers)

    @property
    def n_colours(self) -> int:
        """One more than the highest colour in use."""
        return max((max(router.forest.by_colour, default=-1) for _, router in self.routers), default=-1) + 1

    def figures(self) -> dict[str, Any]:
        """As `figures` of a router; colours that several planes use count once."""
        return figures_of([router for _, router in self.routers])

    def tables(self) -> ForwardingTables:
        """The tables of all switches of the whole network."""
        tables = [(plane, router.forest.tables()) for plane, router in self.routers]
        width = max(each.ports.shape[1] for _, each in tables)
        return ForwardingTables.of(
            np.concatenate([plane.switches[each.switch] for plane, each in tables]),
            np.concatenate([each.colour for _, each in tables]),
            np.concatenate([np.pad(each.ports, ((0, 0), (0, width - each.ports.shape[1]))) for _, each in tables]),
        )


def route_planes(
    network: Network, options: Options, groups: Groups, *, state: Path | None = None, leave: Sequence[str] = (),
    is_checked: bool = False, keep: Path | None = None, progress: Progress = silent,
) -> RoutedPlanes:
    """Lets `groups` join, each on its plane, and those in `leave` leave; checks what has come of it.

    Goes on from `state`, and keeps the new one in `keep`, where given.

    Raises
    ------
    RoutingError
        If a group has members in two planes, or there are several and a state is to be read or kept: it has one.
    """
    planes = planes_of(network)
    for flag, path in (("--load-state", state), ("--save-state", keep)):
        if path is not None and len(planes) > 1:
            raise RoutingError(f"{flag} must have a connected network: {network.name} has {len(planes)} planes")
    parts = list(groups_by_plane(network, planes, groups))
    if len(planes) > 1:
        joined = {name for part in parts for name in part.names}
        for name in leave:
            if name not in joined:
                raise RoutingError(f"group {name!r} must have joined before it can leave")
    done = RoutedPlanes(network, [], len(planes), 0.0, 0.0, 0.0, 0.0, [])
    for plane, part in zip(planes, parts, strict=True):
        is_last = plane is planes[-1] and not done.routers
        if len(planes) > 1 and not len(part) and not is_last:
            continue
        prepared = prepare(plane.network, options, state=state, progress=progress)
        leaving = leave if len(planes) == 1 else [name for name in leave if name in part.names]
        measured = measure(prepared.router, part, leave=leaving, is_checked=is_checked, progress=progress)
        progress("checking", 0, 1)
        done.violations += measured.violations + violations(prepared.router.forest, prepared.router.groups)
        progress("checking", 1, 1)
        done.routers.append((plane, prepared.router))
        done.seconds += measured.seconds
        done.cpu_seconds += measured.cpu_seconds
        done.compile_seconds += prepared.compile_seconds
        done.hops_seconds += prepared.hops_seconds
    if keep is not None:
        save_router(done.routers[0][1], keep)
    return done
