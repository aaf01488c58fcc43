"""Which block of a design its cells belong to, by their names."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

CATEGORIES = {
    "LUT4": "lut4", "CCU2C": "carry", "TRELLIS_DPR16X4": "lut_ram", "TRELLIS_FF": "ff", "DP16KD": "block_ram",
    "MULT18X18D": "dsp",
}
"""Cells of an ECP5 that are counted, and what a report calls them."""

OTHER = "other"
"""Cells whose name says no block: what the mapper made from parts of several."""


def read_cells(netlist: Path, *, top: str) -> Iterable[tuple[str, str]]:
    """Name and type of every cell of a mapped, flat netlist in JSON."""
    cells: Mapping[str, Mapping[str, Any]] = json.loads(netlist.read_text())["modules"][top]["cells"]
    return [(name, cell["type"]) for name, cell in cells.items()]


def by_instance(netlist: Path, *, top: str) -> dict[str, Counter[str]]:
    """Cells by type of everything within each instance of a mapped netlist with modules.

    Parameters
    ----------
    netlist : Path
        JSON netlist that has not been flattened.
    top : str
        Its top module; its own cells are counted as :data:`OTHER`.
    """
    modules = json.loads(netlist.read_text())["modules"]

    @cache
    def within(name: str) -> Counter[str]:
        total: Counter[str] = Counter()
        for cell in modules[name]["cells"].values():
            total += inside(cell["type"])
        return total

    def inside(kind: str) -> Counter[str]:
        return within(kind) if is_module(kind) else Counter([kind])

    def is_module(kind: str) -> bool:
        # The library's cells are modules too, marked as black boxes.
        return kind in modules and "blackbox" not in modules[kind]["attributes"]

    blocks: dict[str, Counter[str]] = {}
    for name, cell in modules[top]["cells"].items():
        block = name if is_module(cell["type"]) else OTHER
        blocks.setdefault(block, Counter()).update(inside(cell["type"]))
    return blocks


def by_block(cells: Iterable[tuple[str, str]], *, depth: int, categories: Mapping[str, str] | None = None) -> dict[
    str, dict[str, int]
]:
    """Cells of each category by block, the largest block first.

    A register and a memory bear the name of the block that they were written in; a look-up table that of the signal
    which it computes, as Yosys names it.

    Parameters
    ----------
    cells : iterable of (name, type)
        The cells; a name is a path, its parts joined by dots.
    depth : int
        How many parts of a path name a block.
    categories : mapping of str to str, optional
        What each type counts as; others are left out. :data:`CATEGORIES` if not given.
    """
    kinds = CATEGORIES if categories is None else categories
    counts: dict[str, Counter[str]] = {}
    for name, kind in cells:
        if kind not in kinds:
            continue
        parts = re.sub(r"^\$\w+\$", "", name).split(".")
        block = ".".join(parts[:depth]) if len(parts) > depth else OTHER
        counts.setdefault(block, Counter())[kinds[kind]] += 1
    names = dict.fromkeys(kinds.values())
    ordered = sorted(counts.items(), key=lambda entry: (-sum(entry[1].values()), entry[0]))
    return {block: {name: count[name] for name in names} for block, count in ordered}
