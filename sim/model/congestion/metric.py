"""The paper's measure of an algorithm: how much worse the same flows are with background (section 4)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.model.congestion.error import CongestionError
from sim.model.congestion.flows import Flow
from sim.model.congestion.simulate import Outcome

KINDS = {"long": "s_l", "short": "s_s", "all-reduce": "s_a"}
"""Kinds of flows under test, and the parts of the measure."""


@dataclass(frozen=True)
class Weights:
    """Weights of long flows' bandwidth, short flows' latency and all-reduce flows' latency (equation 6)."""

    long: float
    short: float
    all_reduce: float


CONFIGURATIONS = {
    "1": Weights(1 / 3, 1 / 3, 1 / 3),
    "2": Weights(0.5, 0.25, 0.25),
    "3": Weights(0.25, 0.25, 0.5),
}
"""The paper's three: all equal; bandwidth of long flows first; all-reduce first."""


@dataclass(frozen=True)
class Degradation:
    """How often a flow takes the time that it takes alone, on average over the flows of a kind: 1 is undisturbed.

    Members
    -------
    s_l : float
        L_i / L_c: bandwidth of long flows alone, over that with background (equation 1).
    s_s, s_a : float
        S_c / S_j, A_c / A_k: latency of short and of all-reduce flows with background, over that alone (2, 3).
    """

    s_l: float
    s_s: float
    s_a: float

    @property
    def w(self) -> float:
        """The variance of the three, which is for how evenly they suffer.

        The paper calls equation 5 the variance term and does not print it readably; this is the population variance.
        """
        return float(np.var([self.s_l, self.s_s, self.s_a]))

    def total(self, weights: Weights) -> float:
        """S = a_L S_L + a_S S_S + a_A S_A + W (equation 6)."""
        return weights.long * self.s_l + weights.short * self.s_s + weights.all_reduce * self.s_a + self.w


def degradation(loaded: Outcome, alone: Outcome) -> Degradation:
    """The measure of a run with background, beside that of the same flows alone.

    Raises
    ------
    CongestionError
        If the runs have other flows under test, or none of a kind, or one did not end.
    """
    slower = slowdowns(loaded, alone)
    parts = {}
    for kind, name in KINDS.items():
        mine = [factor for flow, factor in slower if flow.kind == kind]
        if not mine:
            raise CongestionError(f"flows: must have some of kind {kind!r}")
        parts[name] = float(np.mean(mine))
    return Degradation(**parts)


def slowdowns(loaded: Outcome, alone: Outcome) -> list[tuple[Flow, float]]:
    """Of each flow that ran alone: its completion time with background, over that alone."""
    with_background = _times(loaded.flows, loaded)
    found = []
    for key, time in _times(alone.flows, alone).items():
        if key not in with_background:
            raise CongestionError(f"flows: those of the run with background must have {key[0].source} to "
                                  f"{key[0].destination} at {key[0].start_ns} ns, which ran alone")
        factor = with_background[key] / time
        if not np.isfinite(factor):
            raise CongestionError(f"flows: {key[0].source} to {key[0].destination} did not end")
        found.append((key[0], float(factor)))
    return found


def _times(flows: Sequence[Flow], outcome: Outcome) -> dict[tuple[Flow, int], float]:
    """Completion times by flow, equal flows numbered."""
    found: dict[tuple[Flow, int], float] = {}
    for number, flow in enumerate(flows):
        same = 0
        while (flow, same) in found:
            same += 1
        found[flow, same] = float(outcome.fct_ns[number])
    return found
