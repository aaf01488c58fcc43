"""The host's protocol with a board: frames on a UART, and the board's own registers. See ``docs/fpga.md``.

A request is one frame, and so is its answer; the host waits for the answer before it sends the next request. Numbers
are little-endian.

```
 request  A5 | op | tag | target | count | address, 3 bytes | count words | CRC, 2 bytes
 answer   5A | status | tag | count | count words | CRC, 2 bytes
```

The CRC covers everything between the first byte and itself. A frame is carried out only when it has arrived whole, so a
damaged one has no effect.
"""

import struct
from enum import IntEnum

from firmware_models.abi.register import Access, Register, flag, number
from firmware_models.abi.register_page import Page

REQUEST_SYNC, ANSWER_SYNC = 0xA5, 0x5A
MAX_WORDS = 64
"""Most 32-bit words of a frame."""
REQUEST_HEADER_BYTES, ANSWER_HEADER_BYTES, CRC_BYTES = 8, 4, 2
ADDRESS_BITS = 24
CRC_POLYNOMIAL, CRC_INIT = 0x1021, 0xFFFF
"""CRC-16/CCITT-FALSE: most significant bit first."""


class Op(IntEnum):
    """Access that a request asks for."""

    READ = 1
    """`count` words from `address` on; they are in the answer."""
    WRITE = 2
    """The words go to `address` and after."""
    LIST = 3
    """Pairs of words: target << 24 | address, value. Written one after the other as fast as the buses take them."""


class FrameStatus(IntEnum):
    """Outcome of a request."""

    OK = 0
    BAD_REQUEST = 1
    """No such op, or a count that it does not have. Nothing was done."""
    BUS_ERROR = 2
    """An access was answered with an error, or there is no such target; those after it were left out."""
    BAD_CRC = 3
    """Damaged on its way: nothing was done; to be sent again."""


class Target(IntEnum):
    """Space that an address belongs to; nodes and switches are added to the first of their kind."""

    NIC = 0x00
    """Registers of NIC 0; NIC n has target n."""
    SWITCH = 0x40
    """Registers of the switch."""
    MEMORY = 0x80
    """Host memory of NIC 0; that of NIC n has target 0x80 + n."""
    BOARD = 0xC0
    """The board's own registers, :data:`BOARD_PAGE`."""


BOARD_ID = 0x434F4E42
"""ASCII "CONB"."""
BOARD_VERSION = 1

BOARD_PAGE = Page((
    number("id", 0x00, Access.RO, "Reads 0x434F4E42.", reset=BOARD_ID),
    number("version", 0x04, Access.RO, "Version of frames and registers.", reset=BOARD_VERSION),
    number("n_nics", 0x08, Access.RO, "NICs; each has a host memory, and a port of the switch.", width=8),
    number("memory_bytes", 0x0C, Access.RO, "Bytes of each host memory.", width=24),
    number("clock_hz", 0x10, Access.RO, "Frequency of the design's clock."),
    number("config", 0x14, Access.RO, "Digest of the configuration that the design was built from."),
    Register("control", 0x18, "What the whole board does.", (
        flag("hold", 0, Access.RW, "NICs and switch are held in reset."),
    )),
    Register("leds", 0x1C, "The host's verdict on the lights.", (
        flag("passed", 0, Access.RW, "The results are right."),
        flag("failed", 1, Access.RW, "They are not."),
    )),
    number("cycles_lo", 0x20, Access.RO, "Cycles since NICs left reset, low half; reading it latches the high half."),
    number("cycles_hi", 0x24, Access.RO, "High half as latched."),
    number("start_lo", 0x28, Access.RO, "Cycle in which the last request of op LIST made its first write, low half."),
    number("start_hi", 0x2C, Access.RO, "High half of the same."),
    number("bad_frames", 0x30, Access.RO, "Frames that were damaged, cut short or too long.", width=16),
    number("scratch", 0x34, Access.RW, "Holds what is written."),
))
"""Registers of a board, in an address space of its own."""


def crc16(data: bytes) -> int:
    """CRC of `data`, which ends a frame low byte first."""
    crc = CRC_INIT
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (CRC_POLYNOMIAL if crc & 0x8000 else 0)) & 0xFFFF
    return crc


def pack_request(*, op: int, tag: int, target: int, address: int, words: tuple[int, ...] = (), count: int = 0) -> bytes:
    """A request frame; `count` is needed for reads only. Raises ``ValueError`` if a field does not fit."""
    n_words = len(words) or count
    if not 1 <= n_words <= MAX_WORDS:
        raise ValueError(f"a frame must hold 1 to {MAX_WORDS} words, not {n_words}")
    if not 0 <= address < 1 << ADDRESS_BITS:
        raise ValueError(f"address must be 0 to {(1 << ADDRESS_BITS) - 1:#x}, not {address:#x}")
    body = struct.pack("<BBBB", op, tag, target, n_words) + address.to_bytes(3, "little")
    body += struct.pack(f"<{len(words)}I", *words)
    return bytes([REQUEST_SYNC]) + body + struct.pack("<H", crc16(body))


def pack_answer(*, status: int, tag: int, words: tuple[int, ...] = ()) -> bytes:
    """An answer frame."""
    body = struct.pack("<BBB", status, tag, len(words)) + struct.pack(f"<{len(words)}I", *words)
    return bytes([ANSWER_SYNC]) + body + struct.pack("<H", crc16(body))
