"""Read ports of the memories that passes take their operands from."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class OperandSignature(wiring.Signature):
    """A read port of :class:`~rtl.cou.byte_memory.ByteMemory`: `enable` reads at `address`; `data` is valid from
    the cycle after the next `advance` until the one after that. Out: the side that reads.

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
