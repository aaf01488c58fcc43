"""One measurement of a tag table, and curves over its load."""

from collections.abc import Callable, Sequence
from typing import Any

from firmware_models.config import load_preset
from testbench.buffer.table_driver import TableShape, churn

LOADS = (0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98)
RESERVE = 0.1
"""Share of the buffer that the NIC paper keeps for collisions."""

Progress = Callable[[str, int, int], None]


def measure(
    *, mode: str, entries: int, load: float, operations: int, keys: str, seed: int,
    progress: Progress = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Churns a table at `load` and returns what was counted.

    Returns
    -------
    dict
        `mode`, `load`, `operations`, `failures`, `mismatches`, `lookup_cycles`, `insert_steps` and more;
        `failures` counts insertions that found no entry below the load asked for.
    """
    shape = TableShape(mode=mode, entries=entries)
    stage = f"{mode}, {entries} entries, load {load:.2f}"
    progress(stage, 0, 1)
    counts = churn(shape, load=load, operations=operations, keys=keys, seed=seed)
    progress(stage, 1, 1)
    paper = load_preset("paper")
    held = counts.pop("keys")
    return {
        "mode": mode, "load": load, "operations": counts.pop("operations"), "failures": counts.pop("failures"),
        "mismatches": counts.pop("mismatches"), "lookup_cycles": counts.pop("lookup_cycles"),
        "insert_steps": counts.pop("insert_steps"), "entries": entries, "keys": keys, "seed": seed, "keys_held": held,
        "load_peak": counts["keys_peak"] / entries, "load_mean": counts["keys_mean"] / entries,
        "geometry": None if mode == "linear" else {
            "banks": shape.banks, "ways": shape.ways, "stash": shape.stash, "max_kicks": shape.max_kicks,
        },
        "reserve": RESERVE if mode == "linear" else 0.0,
        "within_reserve": load <= 1 - RESERVE if mode == "linear" else True,
        "paper_preset_slots": paper.buffer_slots, **counts,
    }


def sweep(
    *, loads: Sequence[float], entries: int, operations: int, keys: str, seed: int,
    progress: Progress = lambda stage, done, total: None,
) -> list[dict[str, Any]]:
    """Measures both modes at each of `loads`; above 90%, linear probing has less than the paper's reserve."""
    return [
        measure(
            mode=mode, entries=entries, load=load, operations=operations, keys=keys, seed=seed, progress=progress,
        )
        for mode in ("cuckoo", "linear") for load in loads
    ]
