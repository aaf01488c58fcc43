"""Bounds of what a credit table counts."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CreditSizes:
    """Bounds of what a credit table counts. A proof makes them small.

    Parameters
    ----------
    count_bits, total_bits : int
        Bits of the outstanding credits of one window slot, and of one job: 64 peers with four groups of 255, or with
        128 packets and 255 on shared credits each, are less than 2**16.
    most_asked : int
        Most packets of one offload unit that have asked for a shared credit, and shared credits that it holds,
        together.
    most_kept : int
        Most shared credits of one job for one peer that are kept. As many credits, of either kind, are to be left to
        younger pulses behind a packet; otherwise it asks for one more.
    """

    count_bits: int = 8
    total_bits: int = 16
    most_wanted: int = 32
    most_kept: int = 3


EVERY_BUILD = CreditSizes()
"""The bounds that every build has."""
