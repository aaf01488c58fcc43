"""What the ends of a credit say to each other."""

from amaranth.lib import data

from firmware_models.abi import formats

PLACE_BITS = 2
"""Bits of the place of a multicast in its sender's window."""

CreditNotice = data.StructLayout({
    "job_id": formats.JOB_BITS, "peer": formats.PEER_BITS, "dest_id": formats.NODE_BITS,
    "dest_vp": formats.VP_BITS, "source_vp": formats.VP_BITS, "place": PLACE_BITS,
    "credits": 1, "loan": 1, "want": 1,
})
"""A CREDIT packet. Of a packet that is consumed `loan` says that it came on one, behind the
:class:`~rtl.credit.lender.Lender` that one is granted; without `credits`, that one goes back to its lender."""


def credit_request() -> data.StructLayout:
    """What the table is asked."""
    return data.StructLayout({
        "job_id": formats.JOB_BITS, "peer": formats.PEER_BITS, "oldest": 1, "multicast": 1,
        "members": formats.MEMBER_BITS,
    })


def credit_answer() -> data.StructLayout:
    """What it answers."""
    return data.StructLayout({"ok": 1, "place": PLACE_BITS, "loan": 1, "want": 1})
