"""Finds algorithms by name. Each stands in a file of its own in ``algorithms/``."""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from firmware_models.abi.formats import NODE_BITS

from .error import ScheduleError, require
from .sequence import Schedule, Step, numbered

_DEFAULTS = {
    "broadcast": "binomial", "reduce": "binomial", "allreduce": "recursive-doubling", "barrier": "dissemination",
    "allgather": "ring", "reduce-scatter": "halving",
}

SequenceMaker = Callable[[int, int], Sequence[Sequence[Step]]]
"""(n_nodes, root) to one sequence per rank. `n_nodes` is at least 2 and `root` in range."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One algorithm: who makes its steps, and how many blocks it cuts a message of n ranks into."""

    make: SequenceMaker
    blocks: Callable[[int], int]
    equal_blocks: bool


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective operation: its algorithms by name, the default one first."""

    name: str
    has_root: bool
    moves_data: bool
    algorithms: dict[str, "Algorithm"]


_collectives = {
    name: Collective(name, has_root, moves_data, {})
    for name, has_root, moves_data in (
        ("broadcast", True, True), ("reduce", True, True), ("allreduce", False, True), ("barrier", False, False),
        ("allgather", False, True), ("reduce-scatter", False, True), ("scatter", True, True), ("gather", True, True),
        ("alltoall", False, True), ("scan", False, True), ("exscan", False, True),
    )
}


def algorithm(
    collective: str, name: str, *, blocks: Callable[[int], int] = lambda n_nodes: 1, equal_blocks: bool = False
) -> Callable[[SequenceMaker], SequenceMaker]:
    """Registers the decorated function as algorithm `name` of `collective`.

    Parameters
    ----------
    collective, name : str
        Names.
    blocks : callable
        From the number of ranks to the number of blocks of a message.
    equal_blocks : bool
        As in :class:`Schedule`.
    """

    def register(make: SequenceMaker) -> SequenceMaker:
        _collectives[collective].algorithms[name] = Algorithm(make, blocks, equal_blocks)
        return make

    return register


@cache
def _load() -> dict[str, Collective]:
    """Imports every file of ``algorithms/``, once."""
    from . import algorithms

    for module in sorted(info.name for info in pkgutil.iter_modules(algorithms.__path__)):
        importlib.import_module(f"{algorithms.__name__}.{module}")
    return _collectives


def _collective(name: str) -> Collective:
    known = _load()
    if name not in known:
        raise ScheduleError(f"collective must be one of {', '.join(known)}, not {name!r}")
    return known[name]


def collective_names() -> list[str]:
    """Names of the collectives."""
    return list(_load())


def algorithm_names(collective: str) -> list[str]:
    """Names of the algorithms of `collective`, the default one first.

    Raises :class:`ScheduleError` if there is no such collective.
    """
    first = _DEFAULTS.get(collective)
    return sorted(_collective(collective).algorithms, key=lambda name: name != first)


def default_algorithm(collective: str) -> str:
    """The algorithm that is taken where none is named. Raises as :func:`algorithm_names`."""
    return algorithm_names(collective)[0]


def build(collective: str, algorithm: str | None = None, *, n_nodes: int, root: int = 0) -> Schedule:
    """Makes the schedule of one operation.

    Parameters
    ----------
    collective : str
        One of :func:`collective_names`.
    algorithm : str, optional
        One of :func:`algorithm_names`; without it the default one.
    n_nodes : int
        Number of ranks, at least 2.
    root : int
        Rank of the root; 0 where the collective has none.

    Raises
    ------
    ScheduleError
        If a name is unknown or a number out of range.

    Examples
    --------
    >>> schedule = build("reduce", "binomial", n_nodes=4, root=1)
    >>> schedule.receives(1)
    (2, 3)
    """
    found = _collective(collective)
    name = default_algorithm(collective) if algorithm is None else algorithm
    if name not in found.algorithms:
        raise ScheduleError(f"algorithm of {collective} must be one of {', '.join(found.algorithms)}, not {name!r}")
    require(2 <= n_nodes <= 1 << NODE_BITS, "nodes", f"2 to {1 << NODE_BITS}", n_nodes)
    require(0 <= root < n_nodes, "root", f"0 to {n_nodes - 1}", root)
    require(found.has_root or root == 0, "root", f"0 for {collective}, which has none", root)
    known = found.algorithms[name]
    return Schedule(
        collective=collective, algorithm=name, n_nodes=n_nodes, root=root, moves_data=found.moves_data,
        sequences=numbered(known.make(n_nodes, root)), block_count=known.blocks(n_nodes),
        equal_blocks=known.equal_blocks,
    )
