"""Signals that the steps of the job table share: a report that waits, the turn of a job, the entry that is touched; and
the step that looks at nothing else."""

from dataclasses import dataclass

from amaranth import Module, Signal
from amaranth.lib.data import View


@dataclass(frozen=True, kw_only=True)
class WaitingReport:
    """The report that waits in front of the table.

    Parameters
    ----------
    report, valid : View, Signal
        It, if there is one.
    is_taken : Signal
        It is taken.
    """

    report: View
    valid: Signal
    is_taken: Signal


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The turn of a job at the table.

    Parameters
    ----------
    job : Signal
        The job that it asks for.
    other : Signal
        It is not the packet that may be there.
    by_report, by_order : Signal
        Of the others it is a report; an order; else a sequence.
    """

    job: Signal
    other: Signal
    by_report: Signal
    by_order: Signal


@dataclass(frozen=True, kw_only=True)
class Touch:
    """A touch of an entry, in the cycle in which it takes effect.

    Parameters
    ----------
    entry, after : View
        The entry, before it and after it.
    limits : View
        How far the job's packets may count.
    at_lent : Signal
        The packet claims to be on a shared credit.
    by_packet, by_sequence, reported, ordered : Signal
        Kind of the touch; none of them without one.
    act : Signal
        It takes effect, for nothing has to be waited for.
    at_rest, known : Signal
        The job is at rest; it has a shared credit out.
    """

    entry: View
    after: View
    limits: View
    at_shared: Signal
    by_packet: Signal
    by_sequence: Signal
    reported: Signal
    ordered: Signal
    act: Signal
    at_rest: Signal
    known: Signal


def let_in_at(m: Module, touch: Touch, admits: Signal, sequence: Signal) -> None:
    """Computes the entry after a packet that a credit covers (`admits`), or a sequence, has been let in."""
    entry, after, at_shared = touch.entry, touch.after, touch.at_shared
    with m.If(admits):
        m.d.comb += [
            after.packets.eq(entry.packets + 1), after.taken.eq(entry.taken + ~at_shared),
            after.shared.eq(entry.shared + at_shared),
        ]
    with m.If(sequence):
        m.d.comb += after.busy.eq(1)
