"""Seams of the sending end of a reliable link."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface import flit


def notice_layout(bits: int) -> data.StructLayout:
    """Event: a notice of the other end. Of channel `about`, `value` counts credits or acknowledges flits, and asks for
    a `replay`.
    """
    return data.StructLayout({"about": 1, "is_credit": 1, "replay": 1, "value": bits})


class CreditedFlitsSignature(wiring.Signature):
    """Flits against credits, seen from whoever has the flits.

    Who takes them is always ready: a flit comes only if there is a credit of its channel for it.

    Members
    -------
    valid : ``Out(1)``, flit : ``Out(flit(data_width, marked=True))``
        A flit.
    credit_valid, credit_vc : ``In(1)``
        A credit of that channel. Driven by registers.
    """

    def __init__(self, data_width: int):
        super().__init__({
            "valid": Out(1), "flit": Out(flit(data_width, marked=True)), "credit_valid": In(1), "credit_vc": In(1),
        })


class LinkStandingSignature(wiring.Signature):
    """Standing of a link, seen from whoever trains it.

    Members
    -------
    up : ``Out(1)``
        The link is up.
    dead : ``Out(1)``
        It has been down for so long that nothing is on the wire any more. Never while `up`.
    empties : ``In(1)``
        Flits are thrown away, or are about to be: the link must not come up.
    """

    def __init__(self):
        super().__init__({"up": Out(1), "dead": Out(1), "empties": In(1)})
