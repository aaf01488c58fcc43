"""Words of a reliable link inside of the layer and outside of it."""

from amaranth import unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from firmware_models.abi import wire
from firmware_models.abi.format import Format


def _fields(fmt: Format) -> data.StructLayout:
    return data.StructLayout({field.name: unsigned(field.width) for field in fmt.fields if field.name != "crc"})


Control = _fields(wire.LINK_CONTROL)
"""Fields of a control word, without its CRC."""
Training = _fields(wire.LINK_TRAINING)
"""The same of a training word."""

N_VCS = 2


class WireSignature(wiring.Signature):
    """One direction of the wire of a reliable link: a word a cycle, control or data, no backpressure.

    The block coding of every PHY carries the bit `control`; where `valid` is low it sends what it sends when idle.
    """

    def __init__(self, data_width: int):
        super().__init__({"valid": Out(1), "control": Out(1), "data": Out(data_width)})


def word(data_width: int) -> data.StructLayout:
    """A word before its CRC is put in, or after it has been checked."""
    return data.StructLayout({"valid": 1, "control": 1, "fields": Control, "data": data_width})


class ReportSignature(wiring.Signature):
    """Report from one end to the other about the direction that it receives: a control word takes `what` in a cycle of
    `taken`, and should come soon if it is `due`, at once if it is `urgent`.
    """

    def __init__(self) -> None:
        super().__init__({
            "what": Out(data.StructLayout({"about": 1, "is_credit": 1, "replay": 1, "value": wire.POSITION_BITS})),
            "due": Out(1), "urgent": Out(1), "taken": wiring.In(1),
        })
