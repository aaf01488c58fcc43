"""Networks whose every switch has terminals: torus, dragonfly, random."""

import numpy as np
import numpy.typing as npt

from firmware_models.routing.network import Network, RoutingError

Cables = npt.NDArray[np.int64]


def torus(sizes: tuple[int, ...], terminals: int) -> Network:
    """A torus of any number of dimensions, with `terminals` terminals at every switch.

    Switch numbers run through the first dimension fastest. Terminals come at ports 1 and following; dimension `d` is
    at the two ports after those of the dimensions before it, first the one that leads upwards. A dimension of size 2
    has one cable, one of size 1 none.

    Examples
    --------
    >>> torus((30, 20, 20), 2).n_terminals
    24000
    """
    n_switches = int(np.prod(sizes))
    number = np.arange(n_switches)
    cables, stride = [np.zeros((0, 4), dtype=np.int64)], 1
    for dimension, size in enumerate(sizes):
        place = number // stride % size
        here = number if size > 2 else number[place == 0] if size == 2 else number[:0]
        after = here + stride * ((place[here] + 1) % size - place[here])
        port = np.full(len(here), terminals + 2 * dimension + 1)
        cables.append(np.stack([here, port, after, port + 1], axis=1))
        stride *= size
    terminal = np.arange(n_switches * terminals)
    return Network.wire(
        name=f"torus:{'x'.join(map(str, sizes))}:{terminals}", radixes=np.full(n_switches, terminals + 2 * len(sizes)),
        cables=np.concatenate(cables), leaf=terminal // terminals, leaf_port=terminal % terminals + 1,
    )


def dragonfly(*, a: int, p: int, h: int) -> Network:
    """A dragonfly of ``a * h + 1`` groups: `a` switches a group, each with `p` terminals and `h` cables to other
    groups.

    The switches of a group are all connected with each other, and every two groups by one cable: cable ``i * h + j`` of
    group `g` (port `j` of its switch `i`) leads to group ``(g + i * h + j + 1) mod (a * h + 1)``, whose cable
    ``a * h - 1 - (i * h + j)`` it is.

    Examples
    --------
    >>> dragonfly(a=18, p=9, h=9).n_terminals
    26406
    """
    n_groups = a * h + 1
    number = np.arange(n_groups * a)
    group, here = number // a, number % a
    cables: list[Cables] = [np.zeros((0, 4), dtype=np.int64)]
    for other in range(1, a):
        low = number[here < other]
        mine = here[low]
        cables.append(np.stack([low, np.full(len(low), p + other), group[low] * a + other, p + 1 + mine], axis=1))
    for cable in range(a * h):
        far, back = (np.arange(n_groups) + cable + 1) % n_groups, a * h - 1 - cable
        near = np.arange(n_groups)
        once = near < far
        cables.append(np.stack([
            near * a + cable // h, np.full(n_groups, p + a + cable % h),
            far * a + back // h, np.full(n_groups, p + a + back % h)], axis=1)[once])
    terminal = np.arange(n_groups * a * p)
    return Network.wire(
        name=f"dragonfly:a={a},p={p},h={h}", radixes=np.full(n_groups * a, p + a - 1 + h),
        cables=np.concatenate(cables), leaf=terminal // p, leaf_port=terminal % p + 1,
        switch_names=[f"G{g}_{s}" for g in range(n_groups) for s in range(a)],
    )


def random_network(*, switches: int, ports: int, terminals: int, seed: int) -> Network:
    """`switches` switches of `ports` ports: the first `terminals` lead to terminals, the others to random other
    switches.

    All ends are drawn at random; a cable from a switch to itself or beside another one swaps an end with one drawn at
    random, until there is none.

    Raises
    ------
    RoutingError
        If no such network exists, or the one drawn is not connected (another seed may give one).
    """
    degree = ports - terminals
    name = f"random:switches={switches},ports={ports},terminals={terminals},seed={seed}"
    if degree < 1 or degree >= switches or switches * degree % 2:
        raise RoutingError(
            f"topology {name!r}: ports - terminals must be 1 to switches - 1, and even in total, not {degree}")
    generator = np.random.default_rng(seed)
    ends = generator.permutation(np.repeat(np.arange(switches), degree)).reshape(-1, 2)
    for _ in range(10_000):
        low, high = ends.min(axis=1), ends.max(axis=1)
        first = np.zeros(len(ends), dtype=bool)
        first[np.unique(low * switches + high, return_index=True)[1]] = True
        bad = np.flatnonzero((low == high) | ~first)
        if not len(bad):
            break
        for row in bad:
            other = generator.integers(len(ends))
            ends[row, 1], ends[other, 1] = ends[other, 1], ends[row, 1]
    else:
        raise RoutingError(f"topology {name!r}: no network without double cables was found; another seed may give one")
    flat = ends.ravel()
    order = np.argsort(flat, kind="stable")
    port = np.empty(len(flat), dtype=np.int64)
    port[order] = terminals + 1 + np.arange(len(flat)) % degree
    cables = np.stack([ends[:, 0], port[0::2], ends[:, 1], port[1::2]], axis=1)
    terminal = np.arange(switches * terminals)
    network = Network.wire(
        name=name, radixes=np.full(switches, ports), cables=cables, leaf=terminal // max(terminals, 1),
        leaf_port=terminal % max(terminals, 1) + 1,
    )
    if not _connected(network):
        raise RoutingError(f"topology {name!r}: the network drawn is not connected; another seed may give one")
    return network


def _connected(network: Network) -> bool:
    """True if every switch can be reached from the first."""
    reached = np.zeros(network.n_switches, dtype=bool)
    frontier = np.zeros(1, dtype=np.int32)
    linked = network.peer >= 0
    while len(frontier):
        reached[frontier] = True
        here = np.zeros(network.n_switches, dtype=bool)
        here[frontier] = True
        frontier = np.unique(network.peer[linked & here[network.owner]])
        frontier = frontier[~reached[frontier]]
    return bool(reached.all())
