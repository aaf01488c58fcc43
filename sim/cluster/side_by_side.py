"""Runs side by side: clusters of one topology whose NICs stand in the lanes of one word.

Runs are threads, and each is written as if it were alone; what it does is what it does alone, to the bit and to the
cycle. A thread of the machine carries them all out: several processes are what uses several cores.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from sim.cluster.interface import load_library

Item = TypeVar("Item")
Result = TypeVar("Result")

_own = threading.local()
"""The word that clusters of this thread join: its library, nodes and handle."""


def runs_of_a_word(library: Path, nodes: int) -> int:
    """How many clusters of so many nodes fit into a word of a library, at least 1."""
    return max(1, int(load_library(library).conic_lanes()) // nodes)


def side_by_side(
    function: Callable[[Item], Result], items: Sequence[Item], library: Path, *, nodes: int
) -> Iterator[Result]:
    """Yields the result of `function` for each item, in their order; several are carried out at once.

    Parameters
    ----------
    function : callable
        Makes one cluster after the other, of that library and with so many nodes, none of them in lockstep or with a
        waveform, and closes each. Clusters of other libraries or with other numbers of nodes stand alone.
    items : sequence
        What it is called with.
    library : Path
        What :func:`sim.cluster.build_library` returned.
    nodes : int
        Nodes of a cluster.
    """
    count = min(runs_of_a_word(library, nodes), len(items))
    if count < 2:
        yield from map(function, items)
        return
    api = load_library(library)
    pack = api.conic_create_pack(nodes, count)
    if not pack:
        raise MemoryError(api.conic_fault().decode())

    def joined() -> None:
        _own.library, _own.nodes, _own.pack = library, nodes, pack

    try:
        with ThreadPoolExecutor(count, initializer=joined) as pool:
            yield from pool.map(function, items)
    finally:
        api.conic_destroy_pack(pack)


def pack_of_this_thread(library: Path, nodes: int) -> Any:
    """The word that a cluster joins, or None for one of its own."""
    fits = getattr(_own, "library", None) == library and _own.nodes == nodes
    return _own.pack if fits else None
