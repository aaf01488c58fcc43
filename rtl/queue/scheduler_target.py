"""The unit that a sequence goes to, as the scheduler sees it."""

from dataclasses import dataclass

from amaranth import Signal


@dataclass(frozen=True, kw_only=True)
class Target:
    """Target of the current descriptor: an offload unit, or the point-to-point path.

    That the descriptor is offered, `delivering` to the unit or `sending` to the path, are registers: wide ones are
    loaded with it there, and the state goes on with what they answer.

    Parameters
    ----------
    number, base_pulse : Signal
        The offload unit that the sequence goes to, and the number of its first pulse.
    locating : Signal
        The job table is asked for these. A register, until it has taken the question: that is known late, and the state
        waits for the answer.
    probing, answering, delivering, aborting : Signal
        Streams of the unit: an entry is asked for, the answer waited for, the descriptor offered, the entry released.
    probe_ready, answer_valid, answer_ok, descriptor_ready : Signal
        Answers of the unit.
    sending : Signal
        The descriptor is offered to the point-to-point path.
    readable : Signal
        In the next cycle the descriptor is there whole, and readable.
    delivered, sent : Signal
        It is taken by the unit; by the point-to-point path.
    """

    number: Signal
    base_pulse: Signal
    locating: Signal
    probing: Signal
    answering: Signal
    delivering: Signal
    aborting: Signal
    probe_ready: Signal
    answer_valid: Signal
    answer_ok: Signal
    descriptor_ready: Signal
    sending: Signal
    readable: Signal
    delivered: Signal
    sent: Signal
