"""The tables of ``docs/walk.md``, from ``docs/figures/walk.json``."""

from collections.abc import Iterator
from typing import Any

from sim.report.table import Row


def descriptor(figures: dict[str, Any]) -> Iterator[Row]:
    """Rows of the stages that a descriptor passes."""
    yield from _stages(figures["descriptor"], with_node=False)


def packet(figures: dict[str, Any]) -> Iterator[Row]:
    """Rows of the stages that a packet passes, with their nodes."""
    yield from _stages(figures["packet"], with_node=True)


def _stages(rows: list[dict[str, Any]], *, with_node: bool) -> Iterator[Row]:
    heads = ("stream", "what happens", *(("node",) if with_node else ()), "cycle", "last beat")
    yield heads
    for row in rows:
        last = row["last"] if row["last"] != row["first"] else ""
        yield (f"`{row['stream']}`", row["what"], *((row["node"],) if with_node else ()), row["first"], last)
