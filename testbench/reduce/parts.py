"""Reduce units that one simulation checks side by side."""

from dataclasses import dataclass

from rtl.reduce.reduce_unit import ReduceUnit
from testbench.bundle import Bundle


@dataclass(frozen=True)
class Part:
    """Parameters of one unit in the bundle."""

    data_width: int
    add_cycles: int
    tag_width: int


PARTS = {
    "shallow": Part(data_width=64, add_cycles=5, tag_width=12),
    "wide": Part(data_width=128, add_cycles=8, tag_width=20),
    "deep": Part(data_width=64, add_cycles=16, tag_width=12),
}
"""Both kinds of result buffer, one lane and several. Each lane costs seconds of compilation: no more than needed."""


def reduce_bundle() -> Bundle:
    """All parts under one top."""
    return Bundle({
        name: ReduceUnit(data_width=part.data_width, add_cycles=part.add_cycles, tag_width=part.tag_width)
        for name, part in PARTS.items()
    })
