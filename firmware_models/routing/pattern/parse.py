"""Patterns by name: grids of processes, whose every row is a group, and random groups."""

import re

import numpy as np

from firmware_models.routing.network import Groups, RoutingError

PATTERNS = ("AxB", "AxBxC", "random:groups=N,size=M,seed=S")
"""Forms of a name."""


ORDERS = ("first", "last")
"""Which dimension of a grid runs fastest through the processes: the first, as in the paper, or the last, as in C."""


def parse_pattern(name: str, *, n_terminals: int, processes_per_terminal: int = 1, order: str = "first") -> Groups:
    """The groups of a pattern on a network with `n_terminals` terminals.

    Processes are numbered through the terminals, `processes_per_terminal` at each; `order` is one of `ORDERS`.

    Raises
    ------
    RoutingError
        If it is none of `PATTERNS`, or needs more processes than there are.

    Examples
    --------
    >>> groups = parse_pattern("3x2", n_terminals=6)
    >>> [group.tolist() for group in groups.members]
    [[0, 1, 2], [3, 4, 5], [0, 3], [1, 4], [2, 5]]
    """
    if processes_per_terminal < 1:
        raise RoutingError(f"processes per terminal must be at least 1, not {processes_per_terminal}")
    n_processes = n_terminals * processes_per_terminal
    if re.fullmatch(r"[0-9]{1,7}(x[0-9]{1,7}){1,3}", name):
        sizes = tuple(map(int, name.split("x")))
        if 0 in sizes or int(np.prod([float(size) for size in sizes])) > n_processes:
            raise RoutingError(
                f"pattern {name!r} must have 1 to {n_processes} processes ({n_terminals} terminals × "
                f"{processes_per_terminal}), not {int(np.prod([float(size) for size in sizes]))}")
        return grid(sizes, processes_per_terminal, order)
    match = re.fullmatch(r"random:groups=([0-9]{1,7}),size=([0-9]{1,7})(?:,seed=([0-9]{1,9}))?", name)
    if match is None:
        raise RoutingError(f"pattern must be one of {', '.join(PATTERNS)}, not {name!r}")
    n_groups, size = int(match[1]), int(match[2])
    if n_groups < 1 or not 2 <= size <= n_terminals:
        raise RoutingError(f"pattern {name!r}: groups must be at least 1 and size 2 to {n_terminals}")
    return random_groups(n_groups, size, int(match[3] or 1), n_terminals)


def grid(sizes: tuple[int, ...], processes_per_terminal: int = 1, order: str = "first") -> Groups:
    """Processes as a grid; every row along every dimension is a group.

    Groups come dimension by dimension, the fastest first, the rows of each in the order of their first process.
    """
    if order not in ORDERS:
        raise RoutingError(f"order must be one of {', '.join(ORDERS)}, not {order!r}")
    axes = sizes if order == "first" else sizes[::-1]
    processes = np.arange(int(np.prod(axes))).reshape(axes, order="F")
    members, names = [], []
    for dimension, size in enumerate(axes):
        rows = np.moveaxis(processes, dimension, 0).reshape(size, -1, order="F")
        for number in range(rows.shape[1]):
            members.append(rows[:, number] // processes_per_terminal)
            names.append(f"{dimension if order == 'first' else len(sizes) - 1 - dimension}:{number}")
    return Groups.of(members, names=names)


def random_groups(n_groups: int, size: int, seed: int, n_terminals: int) -> Groups:
    """Groups of `size` terminals each, drawn at random."""
    generator = np.random.default_rng(seed)
    return Groups.of([generator.choice(n_terminals, size, replace=False) for _ in range(n_groups)])
