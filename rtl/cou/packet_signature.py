"""Seams between the packets in the buffer and those who take them out of it."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from rtl.cou.context_signatures import event
from rtl.cou.shapes import CouShapes
from rtl.credit.pool_signature import ConsumptionSignature
from rtl.interface import beat


class LeavingSignature(wiring.Signature):
    """Packets that leave the buffer, seen from the path that consumes them.

    A packet is freed once, after its last beat. Its credit returns once, after the cycle in which `pool` has it as
    consumed.

    Members
    -------
    free : ``Out(stream.Signature(free))``
        Packets that have been read.
    freeing : ``Out(1)``
        Packets are being read, or wait to be freed.
    credit : ``Out(stream.Signature(credit_notice))``
        Credits to return for them.
    pool : ``Out(ConsumptionSignature)``
        Shared credits, in the cycle in which a packet's credit returns.
    barred : ``In(1)``
        No packet may be consumed in this cycle.
    """

    def __init__(self, shapes: CouShapes):
        super().__init__({
            "free": Out(stream.Signature(shapes.free)), "freeing": Out(1),
            "credit": Out(stream.Signature(shapes.notice)),
            "pool": Out(ConsumptionSignature()), "barred": In(1),
        })


class PacketsSignature(wiring.Signature):
    """Packets in the buffer, seen from the path that consumes them. One is asked for, and its beats come in order.

    Members
    -------
    read : ``Out(stream.Signature({slot, length}))``
        A packet is wanted.
    beats : ``In(stream.Signature(beat))``, damaged : ``In(1)``
        Its data; this beat is damaged beyond correction.
    leaving : ``Out(LeavingSignature)``
        Packets that have been read.
    """

    def __init__(self, shapes: CouShapes):
        super().__init__({
            "read": Out(stream.Signature(data.StructLayout({"slot": shapes.packet, "length": formats.LENGTH_BITS}))),
            "beats": In(stream.Signature(beat(shapes.data_width))), "damaged": In(1),
            "leaving": Out(LeavingSignature(shapes)),
        })


class DropSignature(wiring.Signature):
    """Packets that are dropped, seen from whoever drops them, one after the other: as if they had been consumed.

    Members
    -------
    free, credit : ``Out(stream.Signature(free))``, ``Out(stream.Signature(credit_notice))``
        Its slot is to be freed; its credit is to return.
    pool : ``Out(ConsumptionSignature)``
        Shared credits, in the cycle in which it counts as consumed.
    bars : ``Out(1)``
        Nobody else may consume a packet: high as `pool.taken` is, and a cycle longer, so that synthesis makes two
        registers of the two. The pool and the lane that consumes lie far apart.
    freeing : ``In(1)``
        Slots of consumed packets are on their way to be freed.
    freed : ``In(event({slot}))``
        A slot is freed.
    """

    def __init__(self, shapes: CouShapes):
        super().__init__({
            "free": Out(stream.Signature(shapes.free)), "credit": Out(stream.Signature(shapes.notice)),
            "pool": Out(ConsumptionSignature()), "bars": Out(1), "freeing": In(1),
            "freed": In(event(data.StructLayout({"slot": shapes.packet}))),
        })
