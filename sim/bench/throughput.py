"""How much of its link one job fills, and many: collectives of large messages on the RTL."""

from collections.abc import Iterator, Sequence
from typing import Any

from firmware_models.abi.registers import STATE_COUNTERS
from firmware_models.config import load_preset
from sim.collective import CollectiveError, CollectiveRequest, CollectiveResult, run_collective
from sim.report.progress import ProgressCallback

CASES = (
    ("allreduce", "recursive-doubling"), ("allreduce", "ring"), ("allreduce", "rabenseifner"), ("reduce", "binomial"),
    ("broadcast", "binomial"), ("broadcast", "double-binary-tree"), ("broadcast", "multicast"),
)
"""Collectives and algorithms."""


def measure(
    *, presets: Sequence[str], nodes: Sequence[int], n_bytes: Sequence[int], jobs: Sequence[int],
    cases: Sequence[tuple[str, str]], progress: ProgressCallback,
) -> Iterator[dict[str, Any]]:
    """Carries out every case in every size; a row each, as soon as it is there.

    Parameters
    ----------
    presets : sequence of str
        Of the hardware.
    nodes, n_bytes, jobs : sequence of int
        Sizes of clusters, messages, and jobs at once.
    cases : sequence of (collective, algorithm)
        What is carried out.

    Yields
    ------
    dict
        `preset`, `collective`, `algorithm`, `nodes`, `bytes`, `jobs`, `cycles`, `bound_fraction` (payload of the
        busiest link direction over what it could have carried), `framing_fraction` (the same with headers counted),
        `wire_fraction` (and with credits: so `bound_fraction` over it is what a link that is never idle reaches),
        `stalls` (cycles of the units that had something to do, by what they did or waited for, over all of them).

    Raises
    ------
    CollectiveError
        If an operation does not end, or a bit of a result is wrong.
    """
    grid = [
        (preset, case, size, message, n_jobs)
        for preset in presets for size in nodes for message in n_bytes for n_jobs in jobs for case in cases
    ]
    for number, (preset, (collective, algorithm), size, message, n_jobs) in enumerate(grid):
        name = f"{preset}: {collective} {algorithm}, {size} nodes, {message:,} bytes, {n_jobs} jobs"
        progress(name, number, len(grid))
        result = run_collective(CollectiveRequest(
            collective=collective, algorithm=algorithm, nodes=size, size=message, jobs=n_jobs,
            config=load_preset(preset), preset=preset,
        ), keeps_events=False)
        if result.mismatched_bits:
            raise CollectiveError(f"{name}: {result.mismatched_bits} bits differ from the golden model")
        yield {
            "preset": preset, "collective": collective, "algorithm": algorithm, "nodes": size, "bytes": message,
            "jobs": n_jobs, "cycles": result.cycles, "bound_fraction": result.bound_fraction,
            "framing_fraction": result.framing_fraction, "wire_fraction": result.wire_fraction,
            "stalls": _shares(result),
        }
        progress(name, number + 1, len(grid))


def _shares(result: CollectiveResult) -> dict[str, float]:
    """Of the cycles of all units that had something to do."""
    units = [row for row in result.stalls if row["nothing"] < result.cycles]
    return {
        counter.name: sum(row[counter.name] for row in units) / (len(units) * result.cycles)
        for counter in STATE_COUNTERS
    }
