"""Chooses an algorithm from what the study ``algorithms`` has measured (``table.json``)."""

import json
import math
from functools import cache
from importlib import resources
from typing import Any

from firmware_models.schedule import algorithm_names, default_algorithm

AUTO = "auto"
"""In place of an algorithm's name: choose one."""
TABLE = "table.json"


def choose(collective: str, *, nodes: int, size: int, multicast: bool = True) -> str:
    """The algorithm that took the fewest cycles at the number of nodes and the size nearest to these, as ratios.

    Parameters
    ----------
    collective : str
        Its name.
    nodes, size : int
        Nodes, and bytes of the message.
    multicast : bool
        Those that use multicast are among the candidates.

    Examples
    --------
    >>> choose("gather", nodes=4, size=64)  # there is one only
    'binomial'
    """
    rows = [
        row for row in _rows() if row["collective"] == collective and (multicast or "multicast" not in row["algorithm"])
    ]
    if not rows:
        return next(name for name in algorithm_names(collective) if multicast or "multicast" not in name)
    nearest = min((_apart(row["nodes"], nodes), _apart(row["bytes"], size)) for row in rows)
    there = [row for row in rows if (_apart(row["nodes"], nodes), _apart(row["bytes"], size)) == nearest]
    # Of two that are as near, or as fast, the default one and then the first by name.
    first = default_algorithm(collective)
    best = min(there, key=lambda row: (row["cycles"], row["algorithm"] != first, row["algorithm"]))
    return str(best["algorithm"])


def _apart(measured: int, asked: int) -> float:
    return abs(math.log(max(measured, 1) / max(asked, 1)))


@cache
def _rows() -> list[dict[str, Any]]:
    table: dict[str, Any] = json.loads((resources.files("sim.selection") / TABLE).read_text())
    return [row for row in table["rows"] if row["kind"] == "algorithm"]
