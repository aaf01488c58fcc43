"""Layouts that the parts of the point-to-point path exchange."""

from amaranth.lib import data, enum

from firmware_models.abi import formats
from rtl.abi import PacketHeader

NUMBER_BITS = formats.PACKET_HEADER["tag"].width
"""Operations are numbered modulo 2**16; the low bits of the number are the place in the tracker."""
STATUS_BITS = formats.PACKET_HEADER["status"].width
DETAIL_BITS = formats.COMPLETION["detail"].width
FRAGMENT_COUNT_BITS = 32 - 6 + 1
"""Bits of a count of fragments: a message has less than 2**32 bytes, a fragment at least 64."""

Fragment = data.StructLayout({
    "header": PacketHeader,
    "final": 1,
    "stored": 1,
    "read": 1,
    "status": STATUS_BITS,
    "detail": DETAIL_BITS,
})
"""A packet to be sent: its data are in the buffer if `stored`, and still being read if `read`.

`final` ends the operation. A `status` other than OK ends it with that error instead of a packet. An entry that is not
`stored` is no packet at all: it only ends the operation. `detail` is for the completion if the read fails.
"""


class TrackerOp(enum.Enum, shape=2):
    """What is to be done with the tracker's record of an operation."""

    OPEN = 0
    """A new operation begins."""
    PROGRESS = 1
    """A fragment is about to be sent, or will never be; the last one closes the operation's sending."""
    ANSWER = 2
    """A fragment was answered."""
    CHECK = 3
    """Has it made progress lately?"""


TrackerCommand = data.StructLayout({
    "op": TrackerOp,
    "number": NUMBER_BITS,
    "vp": formats.VP_BITS,
    "kind": 4,
    "bytes": 32,
    "tag": 32,
    "sent": 1,
    "final": 1,
    "status": STATUS_BITS,
    "detail": DETAIL_BITS,
})
"""OPEN uses `vp`, `kind`, `bytes`, `tag`; PROGRESS `sent`, `final`, `status`, `detail`; ANSWER `status`, `detail`."""

Admitted = data.StructLayout({
    "header": PacketHeader,
    "accept": 1,
    "answer": 1,
    "status": STATUS_BITS,
    "addr": 64,
    "phase": 1,
})
"""A received packet, judged.

It is written to `addr` if `accept`, and answered if `answer`: with `status`, or with the outcome of the write.
"""
