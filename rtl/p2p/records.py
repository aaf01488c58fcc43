"""Layouts that the parts of the point-to-point path exchange."""

from amaranth import Cat, Value
from amaranth.lib import data, enum
from amaranth.lib.data import View

from firmware_models.abi import formats
from firmware_models.config import Config
from rtl.abi import P2pRange, PacketHeader
from rtl.interface import ADDRESS_BITS

NUMBER_BITS = formats.PACKET_HEADER["tag"].width
"""Operations are numbered modulo 2**16; the low bits of the number are the tracker entry."""
STATUS_BITS = formats.PACKET_HEADER["status"].width
DETAIL_BITS = formats.COMPLETION["detail"].width
NONCE_BITS = formats.NONCE_BITS
FRAGMENT_COUNT_BITS = 32 - 5 + 1
"""Bits of a count of fragments: a message has less than 2**32 bytes, a fragment at least 32: an mtu of 64 less the
flit of its range."""

GET_WINDOW = 16
"""Fragments that a GET may have asked for and not received: so many cover the way there and back."""
GETS_IN_HAND = 8
"""GETs that one node may have begun, of which it has not asked for all."""
REQUESTS_UNDER_WAY = 4 * GET_WINDOW
"""Fragments that all GETs of one node may have asked for and not received."""
GET_COUNT_BITS = (2 * REQUESTS_UNDER_WAY).bit_length()
"""Bits of a count of them; the limit can be overshot by the few that the tracker has not counted yet."""


def fragments_held(config: Config) -> int:
    """Fragments whose data are on their way from memory, or leave: from 4 to :data:`GET_WINDOW`.

    `nic.read_ahead_beats` come while memory answers. Another fragment leaves meanwhile, and the place of one more is
    becoming free. A GET has no more than :data:`GET_WINDOW` under way.
    """
    ahead = config.nic.read_ahead_beats * config.datapath.flit_bytes // config.datapath.mtu
    return min(max(4, ahead + 2), GET_WINDOW)


def is_part(header: View) -> Value:
    """The bit of a PUT or GET that is one of several of its operation: its payload begins with the operation's range.

    It is the header's `coll_end`, which only collective packets use otherwise.
    """
    return header.coll_end


RangedHeader = data.StructLayout({"header": PacketHeader, "range": P2pRange})
"""A header whose range has been taken off its payload: `length` counts the data alone. A packet that is all of its
operation has the range of its own bytes; one of several that has brought none has a range without bytes."""

OperationNumber = data.StructLayout({"number": NUMBER_BITS, "nonce": NONCE_BITS})
"""Number of an operation, which others can guess, and its nonce, which they cannot."""

_OUTSTANDING = {
    "number": NUMBER_BITS, "vp": formats.VP_BITS, "node": formats.NODE_BITS, "peer_vp": formats.VP_BITS,
    "nonce": NONCE_BITS,
}
Outstanding = data.StructLayout(_OUTSTANDING)
"""An operation of a `vp` of this node that asks a `peer_vp` of a `node`. An answer bears all of it."""


def never_opened(n: int) -> list[dict[str, int]]:
    """Contents of a table of `n` operations before there has been any: numbers that their entries cannot have."""
    return [{"number": entry ^ 1} for entry in range(n)]


def nonce_of(header: data.View) -> Value:
    """Fields of a header that hold the nonce of a point-to-point operation."""
    return Cat(header[name] for name in formats.NONCE_FIELDS)


def differs(outstanding: data.View, answer: data.View) -> tuple[Value, ...]:
    """Flags, each high if the header of an answer differs from what was asked, but for the number.

    They are for a register: to sum them up takes another cycle.
    """
    nonce, half = nonce_of(answer), NONCE_BITS // 2
    return (
        outstanding.vp != answer.dest_vp, outstanding.node != answer.source_id, outstanding.peer_vp != answer.source_vp,
        outstanding.nonce[:half] != nonce[:half], outstanding.nonce[half:] != nonce[half:],
    )


Fragment = data.StructLayout({
    "header": PacketHeader,
    "range": P2pRange,
    "final": 1,
    "stored": 1,
    "read": 1,
    "status": STATUS_BITS,
    "detail": DETAIL_BITS,
})
"""A packet to be sent: its data are in the buffer if `stored`, and still being read if `read`. Its `range` goes in
front of them if it is a part.

`final` ends the operation. A `status` other than OK ends it with that error instead of a packet. An entry that is not
`stored` is no packet at all: it only ends the operation. `detail` is for the completion if the read fails.
"""


class TrackerOp(enum.Enum, shape=3):
    """Commands to the tracker on the record of an operation."""

    OPEN = 0
    """A new operation begins."""
    PROGRESS = 1
    """A fragment is about to be sent, or will never be; the last one closes the operation's sending."""
    ANSWER = 2
    """A fragment of a SEND or PUT was answered."""
    CHECK = 3
    """Has it made progress lately?"""
    LAND = 4
    """May an answer to a GET be written? If so, the operation does not end before LANDED."""
    LANDED = 5
    """That has been done, or has failed."""


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
"""OPEN uses `vp`, `kind`, `bytes`, `tag`; PROGRESS `sent`, `final`, `status`, `detail`; ANSWER and LANDED
`status`, `detail`."""


def booking_layout(address_bits: int = ADDRESS_BITS) -> data.StructLayout:
    """Layout of the outstanding part of a GET: `left` bytes from `remote` of whom it has :data:`Outstanding`, to go to
    `local`; `over` once all have come.

    The other node may have addresses of more bits than this one.
    """
    return data.StructLayout({
        **_OUTSTANDING,
        "local": address_bits,
        "remote": ADDRESS_BITS,
        "left": 32,
        "over": 1,
    })


def landing_layout(address_bits: int = ADDRESS_BITS) -> data.StructLayout:
    """A GET_DATA packet, judged: written to `addr` if `accept`; its operation hears of it if `answer`."""
    return data.StructLayout({
        "number": NUMBER_BITS,
        "accept": 1,
        "answer": 1,
        "status": STATUS_BITS,
        "addr": address_bits,
        "detail": DETAIL_BITS,
        "length": formats.PACKET_HEADER["length"].width,
    })


def admitted_layout(address_bits: int = ADDRESS_BITS) -> data.StructLayout:
    """A received packet, judged.

    It is written to `addr` if `accept`, and answered if `answer`: with `status`, or with the outcome of the write.
    `send` and `empty` say of its header what decides most: it is a SEND, and it has no payload.
    """
    return data.StructLayout({
        "header": PacketHeader,
        "accept": 1,
        "answer": 1,
        "status": STATUS_BITS,
        "addr": address_bits,
        "phase": 1,
        "send": 1,
        "empty": 1,
    })
