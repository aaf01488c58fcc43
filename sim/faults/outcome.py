"""Outcome of a collective under faults."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Verdict(Enum):
    """How an operation ended, over all of its participants that are alive."""

    CORRECTED = "corrected"
    """OK everywhere, with the right bits."""
    REPORTED = "reported"
    """A named error at every participant."""
    PARTLY = "reported to some"
    """A named error at some, OK with the right bits at the others."""
    COUNTED = "counted"
    """No completion at a node whose memory refused to take it; the NIC has counted that."""
    HANG = "hang"
    """No completion at some participant within the bound, and nobody who says why."""
    WRONG = "wrong"
    """OK at some participant, with wrong bits."""


@dataclass(frozen=True, kw_only=True)
class FaultOutcome:
    """Faults that a run injected, and how its jobs ended.

    Members
    -------
    injected : dict
        Faults by kind, as many as took place.
    verdicts : list of Verdict
        Of each job.
    statuses : list of dict
        Of each job: status of the completion, by node; None without one.
    cycles : int
        From the first doorbell to the last completion, or to the end of the bound.
    counters : dict
        Event counters of all NICs that are alive, summed, without those that are 0.
    link_counters : dict
        Counters of reliable links, of both ends of every cable but of NICs that are not alive, summed, without those
        that are 0.
    ended : list of dict
        Of each job: cycle of the completion after the first doorbell, by node; None without one.
    wrong : list of list of int
        Of each job: nodes whose result is not that of the golden model, whatever their completions say.
    again : str or None
        "as new" if every job carried out another operation well, after those that had not were closed and opened, and
        cables were whole again; else what was wrong. None if a node is gone for good, or a completion has not come.
    diagnosis : list of list of str
        Of each job: who did not come, who posted something else, who waited for which packets of whom.
    """

    injected: dict[str, int]
    verdicts: list[Verdict]
    statuses: list[dict[int, str | None]]
    cycles: int
    counters: dict[str, int]
    link_counters: dict[str, int] = field(default_factory=dict)
    ended: list[dict[int, int | None]] = field(default_factory=list)
    wrong: list[list[int]] = field(default_factory=list)
    again: str | None = None
    diagnosis: list[list[str]] = field(default_factory=list)

    @property
    def is_accounted_for(self) -> bool:
        """True if no job hangs, none has wrong bits, and all work as new afterwards."""
        return not {Verdict.HANG, Verdict.WRONG} & set(self.verdicts) and self.again in (None, "as new")

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "injected": self.injected, "verdicts": [verdict.value for verdict in self.verdicts],
            "statuses": [{str(node): status for node, status in job.items()} for job in self.statuses],
            "ended": [{str(node): cycle for node, cycle in job.items()} for job in self.ended], "wrong": self.wrong,
            "cycles": self.cycles, "counters": self.counters, "link_counters": self.link_counters,
            "again": self.again,
            "diagnosis": self.diagnosis,
        }
