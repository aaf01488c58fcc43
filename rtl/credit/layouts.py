"""Layouts that sender and receiver of a credit share."""

from amaranth import Value
from amaranth.lib import data

from firmware_models.abi.formats import WIRE, FormatSet

WINDOW_SLOT_BITS = 2
"""Bits of a window slot: which of its outstanding multicasts a packet is."""


def credit_notice(formats: FormatSet = WIRE) -> data.StructLayout:
    """A CREDIT packet.

    Before the :class:`~rtl.credit.shared_pool.SharedPool` `loan` says that the consumed packet travelled on a shared
    credit, behind it that one is granted; without `credits`, that one returns unused. `shared`: the consumed packet
    travelled on a shared credit.
    """
    return data.StructLayout({
        "job_id": formats.job_bits, "peer": formats.peer_bits, "dest_id": formats.node_bits,
        "dest_vp": formats.vp_bits, "source_vp": formats.vp_bits, "window_slot": WINDOW_SLOT_BITS,
        "credits": 1, "loan": 1, "want": 1, "shared": 1,
    })


SHARED_BIT = WINDOW_SLOT_BITS
"""Bit of a CREDIT packet's `tag`: the consumed packet travelled on a shared credit. Its sender counts by this bit."""


def notice_fields(header) -> dict[str, Value | int]:
    """Fields of the CREDIT packet for a consumed packet that its header has: its sender finds its counter by them. A
    multicast travels on no shared credit and asks for none."""
    return {
        "peer": header.peer, "dest_id": header.source_id, "dest_vp": header.source_vp, "window_slot": header.tag,
        "credits": 1, "loan": header.loan & ~header.multicast, "want": header.want & ~header.multicast,
        "shared": header.loan & ~header.multicast,
    }


def credit_request(formats: FormatSet = WIRE) -> data.StructLayout:
    """A request to the credit table."""
    return data.StructLayout({
        "job_id": formats.job_bits, "peer": formats.peer_bits, "oldest": 1, "multicast": 1,
        "members": formats.member_bits,
    })


def credit_answer() -> data.StructLayout:
    """Its answer."""
    return data.StructLayout({"ok": 1, "window_slot": WINDOW_SLOT_BITS, "loan": 1, "want": 1})
