"""Routes groups and measures it: figures of the result, time, memory."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from firmware_models.routing.algorithm.check import violations
from firmware_models.routing.algorithm.router import Options, Router
from firmware_models.routing.algorithm.saved import load_router
from firmware_models.routing.algorithm.warm import warm_up
from firmware_models.routing.network import Groups, Network

Progress = Callable[[str, int, int], None]
"""A callback for progress: stage, done, total."""


def silent(stage: str, done: int, total: int) -> None:
    """Reports to nobody."""


@dataclass
class Prepared:
    """A router that is ready to be measured, and what it took to get there: no part of routing."""

    router: Router
    compile_seconds: float
    hops_seconds: float


@dataclass
class Measured:
    """Time of routing: wall and processor time of choosing roots, building and colouring trees, and filling tables."""

    seconds: float
    cpu_seconds: float
    violations: list[str] = field(default_factory=list)


def prepare(
    network: Network, options: Options, *, state: Path | None = None, progress: Progress = silent,
) -> Prepared:
    """Compiles the loops and fills the hop table; goes on from `state` where given."""
    progress("compiling", 0, 1)
    start = time.process_time()
    warm_up()
    middle = time.process_time()
    progress("compiling", 1, 1)
    progress("hop table", 0, 1)
    router = Router(network, options) if state is None else load_router(network, state)
    progress("hop table", 1, 1)
    return Prepared(router, round(middle - start, 3), round(time.process_time() - middle, 3))


def measure(
    router: Router, groups: Groups, *, leave: Sequence[str] = (), is_checked: bool = False, progress: Progress = silent,
) -> Measured:
    """Lets `groups` join, and those in `leave` leave.

    With `is_checked`, what each step has touched is checked after it, and the whole at the end; the time that it
    takes does not count.
    """
    found: list[str] = []
    checking, cpu_checking = 0.0, 0.0
    start, cpu_start = time.perf_counter(), time.process_time()

    def inspect(names: Sequence[str]) -> None:
        nonlocal checking, cpu_checking
        if not is_checked:
            return
        here, cpu_here = time.perf_counter(), time.process_time()
        trees = {group.tree.number: group.tree for name in names if (group := router.groups.get(name)) and group.tree}
        found.extend(violations(router.forest, router.groups, trees=trees.values()))
        checking += time.perf_counter() - here
        cpu_checking += time.process_time() - cpu_here

    total, step = len(groups), max(1, len(groups) // 200)
    for number, _ in enumerate(router.join_all(groups)):
        inspect(groups.names[number:number + 1])
        if number % step == 0 or number + 1 == total:
            progress("routing", number + 1, total)
    for name in leave:
        tree = router.groups[name].tree if name in router.groups else None
        router.leave(name)
        inspect([] if tree is None else tree.groups)
    return Measured(time.perf_counter() - start - checking, time.process_time() - cpu_start - cpu_checking, found)


def figures(router: Router) -> dict[str, Any]:
    """Colours, EFI (groups on a link between switches), TFI (groups that use a tree), entries of the fullest table."""
    return figures_of([router])


def figures_of(routers: Sequence[Router]) -> dict[str, Any]:
    """The same of the planes of one fabric together."""
    forests = [router.forest for router in routers]
    shared = np.array([len(tree.groups) for forest in forests for tree in forest.trees.values()], dtype=np.int64)
    return {
        "groups": sum(len(router.groups) for router in routers), "trees": len(shared),
        "colours": len({colour for forest in forests for colour in forest.by_colour}),
        "max_efi": max(forest.max_efi for forest in forests),
        "max_tfi": int(shared.max(initial=0)), "mean_tfi": round(float(shared.mean()), 4) if len(shared) else 0.0,
        "merged_groups": int(shared[shared > 1].sum()),
        "max_entries": max(int(forest.entries.max(initial=0)) for forest in forests),
    }


def per_colour(router: Router) -> list[tuple[int, int, int]]:
    """(colour, trees, groups) of every colour in use, ascending."""
    forest = router.forest
    return [(colour, len(numbers), sum(len(forest.trees[number].groups) for number in numbers))
            for colour, numbers in sorted(forest.by_colour.items())]
