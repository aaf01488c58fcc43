"""Group sizes beside each other under a workload: memory against handshakes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from firmware_models.connections.group_size import best_group_size
from firmware_models.connections.layout import Layout
from firmware_models.connections.manager import Costs, Policy, Run, run_trace
from firmware_models.connections.memory import Machine
from firmware_models.connections.scheme import Scheme
from firmware_models.connections.sizes import QueueSizes
from firmware_models.connections.trace.messages import Trace


@dataclass(frozen=True)
class Candidate:
    """A group size under a workload.

    Members
    -------
    group_size : int or None
        Processes; None for a scheme without groups.
    run : Run
        What came of the trace.
    is_best : bool
        No other candidate takes both less memory for its largest process and less added latency.
    """

    group_size: int | None
    run: Run
    is_best: bool


def candidates(scheme: Scheme, machine: Machine) -> list[int]:
    """Group sizes worth a run: whole nodes times powers of two, and the best by static memory."""
    unit = machine.n_cores if scheme.traits.has_xrc else 1
    most = -(-machine.n_processes // unit) * unit
    sizes = {best_group_size(scheme, machine).group_size, most}
    size = unit
    while size < most:
        sizes.add(size)
        size *= 2
    return sorted(sizes)


def compare_group_sizes(
    scheme: Scheme, machine: Machine, trace: Trace, *, group_sizes: Sequence[int | None], sizes: QueueSizes,
    policy: Policy, costs: Costs, progress: Callable[[str, int, int], None] | None = None,
) -> list[Candidate]:
    """Runs the trace with each group size; the ones that nothing beats in memory and latency together are marked.

    Raises
    ------
    ConnectionsError
        If a group size is out of range.
    """
    runs = []
    for number, group_size in enumerate(group_sizes):
        if progress is not None:
            progress("group sizes", number, len(group_sizes))
        layout = Layout(scheme=scheme, machine=machine, group_size=group_size)
        runs.append(run_trace(layout, trace, sizes=sizes, policy=policy, costs=costs, progress=progress))
    if progress is not None:
        progress("group sizes", len(group_sizes), len(group_sizes))
    figures = [(int(run.held_bytes.max()), run.waited_ns_total) for run in runs]
    return [
        Candidate(group_size, run, not any(
            other[0] <= mine[0] and other[1] <= mine[1] and other != mine for other in figures))
        for group_size, run, mine in zip(group_sizes, runs, figures, strict=True)
    ]
