"""Throughput of an ideal link of this kind under errors, to hold measurements against."""

from rtl.link.frame_sender import RUN_WORDS

HOP_CYCLES = 6
"""Cycles of the link layer, each way."""


def go_back_n_bound(*, flits: int, rate: float, trip_cycles: int) -> float:
    """Flits a cycle of a link that sends again everything from a damaged packet on.

    A packet comes whole with probability p; one that does not costs itself and what is sent until its sender hears of
    that, a round trip of t packets: p / (p + (1 - p)(1 + t)) of what is sent is of use.

    Parameters
    ----------
    flits : int
        Of each packet, to which control words come.
    rate : float
        Share of the words that are damaged.
    trip_cycles : int
        From the end of a packet until its sender hears of it.
    """
    words = flits + -(-flits // RUN_WORDS)
    whole = (1 - rate) ** words
    return flits / words * whole / (whole + (1 - whole) * (1 + trip_cycles / words))
