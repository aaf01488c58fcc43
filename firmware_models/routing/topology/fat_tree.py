"""Fat trees: the three-level k-ary tree, and trees trimmed above their leaves."""

import numpy as np
import numpy.typing as npt

from firmware_models.routing.network import Network, RoutingError


def star(n_terminals: int) -> Network:
    """All terminals on one switch; terminal `t` is at port ``t + 1``."""
    return Network.wire(
        name=f"star:{n_terminals}", radixes=[n_terminals], cables=[], leaf=np.zeros(n_terminals, dtype=np.int32),
        leaf_port=np.arange(n_terminals) + 1, switch_names=["S0"],
    )


def fat_tree(radix: int) -> Network:
    """Three levels of switches with `radix` ports, radix³/4 terminals.

    Half of an edge switch's ports lead to terminals, the others to every aggregation switch of its pod. Aggregation
    switch `a` of every pod leads to cores ``a * radix / 2`` and following, of which port `p` leads to pod ``p - 1``.
    Ports towards terminals come first. Switches are numbered edge, aggregation, core.

    Raises
    ------
    RoutingError
        If `radix` is odd or less than 2.

    Examples
    --------
    >>> fat_tree(4).n_terminals, fat_tree(4).n_switches
    (16, 20)
    """
    if radix < 2 or radix % 2:
        raise RoutingError(f"topology must be fat-tree:K with K even and at least 2, not 'fat-tree:{radix}'")
    half = radix // 2
    pod, edge, up = _all_of(radix, half, half)
    aggregation, core = radix * half, 2 * radix * half
    lower = np.stack([pod * half + edge, half + 1 + up, aggregation + pod * half + up, edge + 1], axis=1)
    upper = np.stack([aggregation + pod * half + edge, half + 1 + up, core + edge * half + up, pod + 1], axis=1)
    terminal = np.arange(radix * half * half)
    names = [f"{level}{p}_{s}" for level in "EA" for p in range(radix) for s in range(half)]
    return Network.wire(
        name=f"fat-tree:{radix}", radixes=np.full(core + half * half, radix), cables=np.concatenate([lower, upper]),
        leaf=terminal // half, leaf_port=terminal % half + 1,
        switch_names=names + [f"C{c}" for c in range(half * half)],
    )


def trimmed_fat_tree(
    *, name: str, planes: int, leaves: int, terminals: int, middles: int, tops: int, paths: int,
) -> Network:
    """A fat tree that is thinner above its leaves, in the manner of the Sunway machines.

    Each plane has `leaves` leaf switches with `terminals` terminals each, and `middles` middle switches with one cable
    to every leaf. Each of the `tops` top switches has `paths` cables to every plane, all to different middle switches:
    so there are `paths` paths from each leaf to each top switch. The cables of a plane are dealt to its middle
    switches in blocks: number `i` of ``tops * paths`` is at middle switch ``i // (tops * paths / middles)`` and leads
    to top ``i % tops``. Switches are numbered leaf, middle, top.

    Raises
    ------
    RoutingError
        If the middle switches cannot all have the same number of cables upwards, or a top switch would have two cables
        to one of them.
    """
    n_up = tops * paths
    if min(planes, leaves, terminals, middles, tops, paths) < 1 or n_up % middles or n_up // middles > tops:
        raise RoutingError(
            f"topology {name!r}: tops × paths must be a multiple of middles, and paths at most middles, not "
            f"{tops} × {paths} with {middles}")
    up = n_up // middles
    middle, top = planes * leaves, planes * (leaves + middles)
    p, s, m = _all_of(planes, leaves, middles)
    lower = np.stack([p * leaves + s, terminals + 1 + m, middle + p * middles + m, s + 1], axis=1)
    q, i = _all_of(planes, n_up)
    upper = np.stack(
        [middle + q * middles + i // up, leaves + 1 + i % up, top + i % tops, q * paths + i // tops + 1], axis=1)
    radixes = np.repeat([terminals + middles, leaves + up, planes * paths], [middle, planes * middles, tops])
    terminal = np.arange(planes * leaves * terminals)
    names = [f"L{p}_{s}" for p in range(planes) for s in range(leaves)]
    names += [f"M{p}_{m}" for p in range(planes) for m in range(middles)]
    return Network.wire(
        name=name, radixes=radixes, cables=np.concatenate([lower, upper]), leaf=terminal // terminals,
        leaf_port=terminal % terminals + 1, switch_names=names + [f"T{t}" for t in range(tops)],
    )


def _all_of(*sizes: int) -> list[npt.NDArray[np.int64]]:
    """All combinations of numbers below `sizes`, the last running fastest: an array for each."""
    return [axis.ravel() for axis in np.meshgrid(*map(np.arange, sizes), indexing="ij")]
