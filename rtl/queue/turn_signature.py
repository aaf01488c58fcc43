"""Seam between the VP table and the descriptor queue."""

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface import ADDRESS_BITS
from rtl.queue.records import TurnEnd, turn_layout


class TurnSignature(wiring.Signature):
    """Turns, seen from the table that chooses them.

    One turn is in progress at a time: whoever serves it takes the next one after the end of the one before, and may
    look at it meanwhile.

    Members
    -------
    offer : ``Out(stream.Signature(turn_layout(address_bits)))``
        The next turn.
    stale : ``Out(1)``
        The VP of the offered turn has another record by now: nothing of the turn may be served. Until it is taken, once
        it is high. What its end says is not noted then.
    end : ``In(stream.Signature(TurnEnd))``
        The end of each turn.
    """

    def __init__(self, address_bits: int = ADDRESS_BITS):
        super().__init__({
            "offer": Out(stream.Signature(turn_layout(address_bits))), "stale": Out(1),
            "end": In(stream.Signature(TurnEnd)),
        })
