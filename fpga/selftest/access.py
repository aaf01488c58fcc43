"""Accesses of the host to words: the streams between the bridge and what it reaches."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.board import ADDRESS_BITS

Access = data.StructLayout({"target": 8, "write": 1, "addr": ADDRESS_BITS, "data": 32})
"""One access to the 32-bit word at byte address `addr` of a target."""

Answer = data.StructLayout({"data": 32, "error": 1})
"""Its answer; `data` is 0 after a write or an error."""


class AccessSignature(wiring.Signature):
    """Accesses and their answers, seen from the one who asks: one answer an access, in order, one in progress."""

    def __init__(self) -> None:
        super().__init__({"access": Out(stream.Signature(Access)), "answer": In(stream.Signature(Answer))})
