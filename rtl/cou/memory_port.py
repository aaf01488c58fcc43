"""Read ports of the memories that passes take their operands from."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class OperandPort(wiring.Signature):
    """Asks a :class:`~rtl.cou.byte_memory.ByteMemory`: what `address` says, with `enable`; in the cycle after the next
    `advance` it stands at `data`, until the one after that. Out: the side that asks.

    Parameters
    ----------
    address_bits : int
        Bits of an address.
    data_width : int
        Bits of a beat.
    """

    def __init__(self, *, address_bits: int, data_width: int):
        super().__init__({
            "address": Out(address_bits), "enable": Out(1), "advance": Out(1), "data": In(data_width),
        })
