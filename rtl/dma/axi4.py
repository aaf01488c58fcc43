"""The AXI4 bus: signature, responses, bounds of bursts."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface import ADDRESS_BITS

PAGE_BYTES = 4096
"""No burst crosses a boundary of this size."""
BURST_INCR = 0b01
CACHE_NORMAL = 0b0011
"""Normal memory, not cacheable, bufferable: what AXI4 advises for a DMA to memory."""
RESP_OKAY = 0b00
RESP_SLVERR = 0b10
RESP_DECERR = 0b11


class Axi4Signature(wiring.Signature):
    """An AXI4 bus with 64-bit addresses, seen from its manager.

    Parameters
    ----------
    data_width : int
        Bits of data: 64, 128, 256 or 512.
    id_width : int
        Bits of the transaction identifiers, at least 1.
    """

    def __init__(self, *, data_width: int, id_width: int):
        if data_width not in (64, 128, 256, 512):
            raise ValueError(f"data_width must be 64, 128, 256 or 512, not {data_width!r}")
        if id_width < 1:
            raise ValueError(f"id_width must be at least 1, not {id_width!r}")
        self.data_width = data_width
        self.id_width = id_width
        super().__init__({
            **_address_channel("aw", id_width),
            "wdata": Out(data_width), "wstrb": Out(data_width // 8), "wlast": Out(1),
            "wvalid": Out(1), "wready": In(1),
            "bid": In(id_width), "bresp": In(2), "bvalid": In(1), "bready": Out(1),
            **_address_channel("ar", id_width),
            "rid": In(id_width), "rdata": In(data_width), "rresp": In(2), "rlast": In(1),
            "rvalid": In(1), "rready": Out(1),
        })


def _address_channel(prefix: str, id_width: int) -> dict[str, wiring.Member]:
    widths = {
        "id": id_width, "addr": ADDRESS_BITS, "len": 8, "size": 3, "burst": 2, "lock": 1, "cache": 4, "prot": 3,
        "qos": 4, "valid": 1,
    }
    return {prefix + name: Out(width) for name, width in widths.items()} | {prefix + "ready": In(1)}


def is_error(resp):
    """High if a response is SLVERR or DECERR."""
    return resp[1]


def check_burst(*, data_width: int, max_burst_beats: int) -> int:
    """The beats between boundaries that bursts keep to: the largest burst, but at most a page.

    Raises
    ------
    ValueError
        If `max_burst_beats` is no power of two from 1 to 256.
    """
    if not 1 <= max_burst_beats <= 256 or max_burst_beats & (max_burst_beats - 1):
        raise ValueError(f"max_burst_beats must be a power of two from 1 to 256, not {max_burst_beats!r}")
    return min(max_burst_beats, PAGE_BYTES * 8 // data_width)
