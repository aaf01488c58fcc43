"""Seams of the credit table."""

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.formats import WIRE, FormatSet
from rtl.credit.layouts import credit_answer, credit_request


class CreditRequestSignature(wiring.Signature):
    """Requests for credits, seen from whoever wants them; each is answered, in order.

    Members
    -------
    request : ``Out(stream.Signature(credit_request))``
        A credit is wanted.
    hold : ``Out(1)``
        The request is not to be decided on yet: the packet that it is for has only been announced.
    answer : ``In(stream.Signature(credit_answer))``
        The credit, or a refusal.
    """

    def __init__(self, formats: FormatSet = WIRE):
        super().__init__({
            "request": Out(stream.Signature(credit_request(formats))), "hold": Out(1),
            "answer": In(stream.Signature(credit_answer())),
        })
