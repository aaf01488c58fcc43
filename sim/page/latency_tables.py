"""The tables of ``docs/latency.md``, from the output of ``conic bench latency``."""

from collections.abc import Iterator
from typing import Any

from sim.bench.core_speed import IN_NANOSECONDS
from sim.report.table import Row


def hops(figures: dict[str, Any]) -> Iterator[Row]:
    """A reduce hop by data width and size."""
    yield "data width", "bytes", "trigger", "hop", "of it behind the last flit in", "header in to header out"
    for one in (figures, *figures.get("widths", [])):
        for row in one["hops"]:
            yield (one["data_width"], f"{row['bytes']:,}", row["trigger_cycles"], row["hop_cycles"],
                   row["after_last_flit_cycles"], row["header_hop_cycles"])


def nanoseconds(figures: dict[str, Any]) -> Iterator[Row]:
    """The figures at the measured speed of the core."""
    yield "key", "cycles", f"ns at {figures['fmax_mhz']:.1f} MHz"
    for time, cycles in IN_NANOSECONDS.items():
        yield f"`{time}`", figures[cycles], f"{figures[time]:.1f}"


def stages(figures: dict[str, Any]) -> Iterator[Row]:
    """Rows of the stages within the smallest and the largest hop, with their cycles."""
    smallest, largest = figures["hops"][0], figures["hops"][-1]
    yield "what", f"cycle, {smallest['bytes']} bytes", f"cycle, {largest['bytes']} bytes"
    for stage, cycle in smallest["stages"].items():
        yield stage, cycle, largest["stages"][stage]


def triggers(figures: dict[str, Any]) -> Iterator[Row]:
    """From the packet that comes last to the trigger."""
    yield "packet that comes last", "cycles"
    yield from figures["triggers"].items()


def doorbells(figures: dict[str, Any]) -> Iterator[Row]:
    """From the doorbell to the first flit."""
    yield "what", "cycles", "reads of host memory behind each other", "cycles in host memory"
    for what, row in figures["doorbells"].items():
        yield what, row["cycles"], row["memory_reads"], row["memory_reads"] * row["memory_cycles"]


def doorbell_stages(figures: dict[str, Any]) -> Iterator[Row]:
    """Rows of the stages behind a doorbell, with their cycles."""
    yield "what", "cycle"
    yield from next(iter(figures["doorbells"].values()))["stages"].items()
