"""Seam between passes and the packets that they consume."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.config import Config
from rtl.buffer.layouts import free_layout
from rtl.cou.command import CouShapes
from rtl.credit.layouts import CreditNotice
from rtl.credit.pool_signature import ConsumptionSignature
from rtl.interface import beat


class PacketsSignature(wiring.Signature):
    """Packets in the buffer, seen from the path that consumes them.

    A packet is asked for, its beats come in order, and it is freed once, after its last beat. Its credit returns once,
    after the cycle in which `pool` has it as consumed.

    Members
    -------
    read : ``Out(stream.Signature({slot, length}))``
        A packet is wanted.
    beats : ``In(stream.Signature(beat))``, damaged : ``In(1)``
        Its data; this beat is damaged beyond correction.
    free : ``Out(stream.Signature(free_layout))``
        Packets that have been read.
    freeing : ``Out(1)``
        Packets are being read, or wait to be freed.
    credit : ``Out(stream.Signature(CreditNotice))``
        Credits to return for them.
    pool : ``Out(ConsumptionSignature)``
        Shared credits, in the cycle in which a packet's credit returns.
    barred : ``In(1)``
        No packet may be consumed in this cycle.
    """

    def __init__(self, config: Config):
        shapes = CouShapes(config)
        super().__init__({
            "read": Out(stream.Signature(data.StructLayout({"slot": shapes.packet, "length": formats.LENGTH_BITS}))),
            "beats": In(stream.Signature(beat(config.datapath.data_width))), "damaged": In(1),
            "free": Out(stream.Signature(free_layout(config))), "freeing": Out(1),
            "credit": Out(stream.Signature(CreditNotice)),
            "pool": Out(ConsumptionSignature()), "barred": In(1),
        })
