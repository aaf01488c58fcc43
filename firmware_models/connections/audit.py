"""Checks of a run that do not believe the manager: its counts against lists of all peers and sums."""

import numpy as np

from firmware_models.connections.layout import Layout
from firmware_models.connections.manager import Run
from firmware_models.connections.memory import queue_pairs

_SAMPLES = 16


def violations(run: Run, *, seed: int = 1) -> list[str]:
    """Lists the invariants that do not hold of a run, a line each; [] if all is well.

    Every message went one way; every dynamic queue pair was torn down; the busiest process has as many static queue
    pairs as the paper's formula says; and some processes, the first and last ones and others drawn with `seed`, have as
    many as a walk through all of their peers finds.
    """
    layout, found = run.layout, []
    sent = sum(run.messages.values())
    if sent != run.trace.n_messages:
        found.append(f"messages must be {run.trace.n_messages}, not {sent}")
    if run.opened != run.closed:
        found.append(f"queue pairs torn down must be {run.opened}, as many as were made, not {run.closed}")
    formula = queue_pairs(layout.scheme, layout.machine, layout.group_size)
    counted = int(layout.static_queue_pairs.max())
    if counted != formula:
        found.append(f"static queue pairs of the busiest process must be {formula}, not {counted}")
    last = layout.n_processes - 1
    drawn = np.random.default_rng(seed).integers(0, layout.n_processes, _SAMPLES)
    edges = [0, min(layout.members, last), last // layout.members * layout.members, last]
    for rank in sorted({*edges, *drawn.tolist()}):
        walked = len(static_units(layout, rank))
        if walked != layout.static_queue_pairs[rank]:
            found.append(f"static queue pairs of process {rank} must be {walked}, not "
                         f"{layout.static_queue_pairs[rank]}")
    return found


def static_units(layout: Layout, rank: int) -> np.ndarray:
    """The units that a process is connected with from the beginning, found by asking for every other process.

    With XRC the own node is one of them, even if nobody else is there (section 3.2 counts m, not m - 1).
    """
    everybody = np.arange(layout.n_processes, dtype=np.int64)
    units = everybody[layout.is_static(np.array([rank]), everybody)] // layout.unit_processes
    own = [rank // layout.unit_processes] if layout.scheme.traits.has_xrc else []
    return np.union1d(units, own)
