"""Traces by rule: stencils, all to all along the rows of a grid, random partners."""

import itertools
from collections.abc import Iterator

import numpy as np

from firmware_models.connections.error import require
from firmware_models.connections.trace.messages import CHUNK, Ints, Messages, Trace

MAX_DIMENSIONS = 4
SHAPES = ("star", "box")
"""Neighbours of a stencil: along the axes, or diagonal ones too."""


def _grid(name: str, sizes: tuple[int, ...], n_processes: int) -> int:
    """Processes of a grid. Raises :class:`ConnectionsError` if it does not fit."""
    require(1 <= len(sizes) <= MAX_DIMENSIONS, f"dimensions of {name}", f"1 to {MAX_DIMENSIONS}", len(sizes))
    product = 1
    for size in sizes:
        product *= size
    require(2 <= product <= n_processes, f"processes of {name}", f"2 to {n_processes}", product)
    return product


def _ranges(n_processes: int) -> Iterator[Ints]:
    """All ranks, some at a time."""
    for first in range(0, n_processes, CHUNK):
        yield np.arange(first, min(first + CHUNK, n_processes), dtype=np.int64)


def _coordinates(ranks: Ints, sizes: tuple[int, ...]) -> list[Ints]:
    """Coordinates of ranks, the first dimension running fastest."""
    found = []
    for size in sizes:
        ranks, coordinate = np.divmod(ranks, size)
        found.append(coordinate)
    return found


def stencil(
    name: str, sizes: tuple[int, ...], n_processes: int, *, shape: str = "star", is_periodic: bool = False,
    n_bytes: int = 8192, n_repeats: int = 1,
) -> Trace:
    """Every process of a grid sends to its neighbours, once in each of `n_repeats` phases.

    `star` are the 2 d neighbours along the axes, `box` the 3**d - 1 around it. Without `is_periodic` the grid has
    borders. In a dimension of one there are no neighbours, in a periodic one of two both are the same process, and
    get one message each.

    Raises
    ------
    ConnectionsError
        If the grid has fewer than 2 or more than `n_processes` processes, or more than four dimensions.
    """
    total = _grid(name, sizes, n_processes)
    steps = [step for step in itertools.product((-1, 0, 1), repeat=len(sizes))
             if any(step) and (shape == "box" or sum(map(abs, step)) == 1)]
    strides = [int(np.prod(sizes[:axis], dtype=np.int64)) for axis in range(len(sizes))]
    count = sum(
        int(np.prod([size - (abs(move) if not is_periodic else size * (move != 0 and size == 1))
                     for size, move in zip(sizes, step, strict=True)], dtype=np.int64))
        for step in steps
    )

    def make() -> Iterator[Messages]:
        for phase in range(n_repeats):
            for ranks in _ranges(total):
                places = _coordinates(ranks, sizes)
                for step in steps:
                    there, is_inside = np.zeros_like(ranks), np.ones(len(ranks), bool)
                    for place, move, size, stride in zip(places, step, sizes, strides, strict=True):
                        moved = place + move
                        if is_periodic:
                            is_inside &= move == 0 or size > 1
                            moved %= size
                        is_inside &= (moved >= 0) & (moved < size)
                        there += moved * stride
                    yield _equal(ranks[is_inside], there[is_inside], n_bytes, phase)

    return Trace(name=name, n_processes=n_processes, n_messages=count * n_repeats, n_phases=n_repeats, make=make)


def all_to_all(
    name: str, sizes: tuple[int, ...], n_processes: int, *, n_bytes: int = 8192, n_repeats: int = 1,
) -> Trace:
    """Everybody sends to everybody of its row, along every dimension of a grid in turn: a Fourier transform.

    A row of s processes takes s - 1 phases; in phase k a process sends to the one k after it (pairwise exchange). One
    dimension is all to all among all processes.

    Raises as :func:`stencil`.
    """
    total = _grid(name, sizes, n_processes)
    n_phases = sum(size - 1 for size in sizes)

    def make() -> Iterator[Messages]:
        phase = 0
        for _ in range(n_repeats):
            stride = 1
            for size in sizes:
                for distance in range(1, size):
                    for ranks in _ranges(total):
                        place = ranks // stride % size
                        there = ranks + ((place + distance) % size - place) * stride
                        yield _equal(ranks, there, n_bytes, phase)
                    phase += 1
                stride *= size

    return Trace(name=name, n_processes=n_processes, n_messages=total * n_phases * n_repeats,
                 n_phases=n_phases * n_repeats, make=make)


def random_partners(name: str, n_processes: int, *, n_rounds: int, seed: int, n_bytes: int = 8192) -> Trace:
    """In every phase every process sends to another one, drawn at random: the same for the same seed.

    Raises
    ------
    ConnectionsError
        If there are fewer than two processes.
    """
    require(n_processes >= 2, "processes", "at least 2", n_processes)

    def make() -> Iterator[Messages]:
        for phase in range(n_rounds):
            for ranks in _ranges(n_processes):
                generator = np.random.default_rng([seed, phase, int(ranks[0])])
                there = ranks + generator.integers(1, n_processes, len(ranks))
                yield _equal(ranks, there % n_processes, n_bytes, phase)

    return Trace(name=name, n_processes=n_processes, n_messages=n_processes * n_rounds, n_phases=n_rounds, make=make)


def _equal(source: Ints, destination: Ints, n_bytes: int, phase: int) -> Messages:
    """Messages of one length in one phase."""
    return Messages(source, destination, np.full(len(source), n_bytes, np.int64), np.full(len(source), phase, np.int64))
