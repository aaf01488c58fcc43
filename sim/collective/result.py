"""Results of collectives on the RTL: one operation, and one under many orders."""

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from firmware_models.host import Completion
from sim.report.activity import Activity


@dataclass(frozen=True, kw_only=True)
class CollectiveResult:
    """Result of an operation.

    Members
    -------
    cycles : int
        From the first doorbell to the last completion in host memory.
    bytes : int
        Of one job's message.
    goodput_fraction : float
        Payload that the busiest node received, over what its link could have carried in that time.
    bound_fraction : float
        Cycles that the payload of the busiest link direction takes at the very least, over the cycles taken.
    framing_fraction : float, optional
        Cycles that this link's flits take, headers included, over the cycles taken; of what NICs carry out.
    wire_fraction : float, optional
        The same with the credits that the link carries for packets the other way.
    mismatched_bits : int
        Bits that differ from the golden model, over all nodes and jobs.
    sha256 : str
        Of the results of all jobs.
    outputs : array of shape (nodes, elements)
        Results of job 0; rows of nodes that receive none are zero.
    completions : list of Completion
        All of them.
    counters : dict
        Event counters, summed over the nodes.
    events : list of Activity
        What every node did, if they were to be kept.
    stalls : list of dict
        Cycles of every offload unit by what it did or waited for (``registers.STATE_COUNTERS``), with `node` and
        `cou`; what is left of `cycles` is `nothing`.
    buffer_occupancy : list of dict
        `now`, `peak` and time-weighted `mean` of every packet buffer, as fractions of its usable capacity, with `node`
        and `cou`.
    first_cycle, last_cycle : int
        When the operation began, and when the run was over, in cycles since reset: so `events` and waveforms count.
    damaged_words : int
        Words of reliable links that were damaged, since reset.
    process_cycles : list of list of float
        With a host: cycles until each process had its result, by job and rank.
    """

    cycles: int
    bytes: int
    goodput_fraction: float
    bound_fraction: float
    framing_fraction: float | None
    wire_fraction: float | None
    mismatched_bits: int
    sha256: str
    outputs: NDArray[Any]
    completions: list[Completion]
    counters: dict[str, int]
    events: list[Activity]
    stalls: list[dict[str, int]]
    buffer_occupancy: list[dict[str, float]]
    first_cycle: int = 0
    last_cycle: int = 0
    damaged_words: int = 0
    process_cycles: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class VerifyResult:
    """Result of an operation under many orders; `first_difference` is the first order with another result.

    `damaged_words`: of all orders, where links are reliable and wires are not.
    """

    orders: int
    distinct_results: int
    mismatched_bits: int
    sha256: str
    first_difference: int | None
    damaged_words: int
