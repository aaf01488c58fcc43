"""Runs the programs of all ranks side by side; sums are made by whoever is given, for example the simulated cluster."""

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

import numpy as np

from sim.example.conjugate_gradient import Answer, FloatArray, Halo, Sum, Wish

Result = TypeVar("Result")
AllReduce = Callable[[FloatArray], FloatArray]
"""From one row per rank to one row per rank, shape (ranks, elements)."""


def lockstep(programs: Sequence[Generator[Wish, Answer, Result]], all_reduce: AllReduce) -> list[Result]:
    """Results of all programs.

    Raises
    ------
    RuntimeError
        If ranks ask for different things, as programs do that have taken different ways.
    """
    answers: list[Answer | None] = [None] * len(programs)
    while True:
        wishes: list[Wish] = []
        results: list[Result] = []
        for program, answer in zip(programs, answers, strict=True):
            try:
                wishes.append(next(program) if answer is None else program.send(answer))
            except StopIteration as end:
                results.append(end.value)
        if results and not wishes:
            return results
        if results or len({type(wish) for wish in wishes}) != 1:
            raise RuntimeError("ranks ask for different things")
        answers = list(_answers(wishes, all_reduce))


def _answers(wishes: list[Wish], all_reduce: AllReduce) -> Sequence[Answer]:
    sums = [wish.values for wish in wishes if isinstance(wish, Sum)]
    if sums:
        return list(all_reduce(np.stack(sums)))
    halos = [wish for wish in wishes if isinstance(wish, Halo)]
    border = np.zeros_like(halos[0].first)
    before = [border, *(halo.last for halo in halos[:-1])]
    after = [*(halo.first for halo in halos[1:]), border]
    return list(zip(before, after, strict=True))
