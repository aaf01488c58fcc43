"""Seam between the packet buffer and those who decide on its packets."""

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.formats import FormatSet
from rtl.abi import layout
from rtl.buffer.layouts import arrival_layout
from rtl.buffer.tag_table import answer_layout


class LookUpSignature(wiring.Signature):
    """Look-ups in the packet buffer, seen from whoever asks; each is answered, in order.

    Members
    -------
    request : ``Out(stream.Signature(HashKey))``
        The key of a packet that is wanted.
    hash : ``Out``
        Its hash (:func:`~rtl.buffer.layouts.key_hash`) stands beside it, unless the table has hashes of its own.
    answer : ``In(stream.Signature({hit, slot, error}))``
        The slot of the packet. Answers to others may pass as well.
    """

    def __init__(self, slot_bits: int, hash_bits: int, formats: FormatSet):
        hashes = {"hash": Out(hash_bits)} if hash_bits else {}
        super().__init__({
            "request": Out(stream.Signature(layout(formats.hash_key))), **hashes,
            "answer": In(stream.Signature(answer_layout(slot_bits))),
        })


class HeaderViewSignature(wiring.Signature):
    """Header of a packet in the buffer, seen from whoever reads it.

    Members
    -------
    enable, slot : ``Out``
        The header in this slot is wanted.
    header : ``In(PacketHeader)``
        It comes a cycle later, and stays until the next `enable`.
    """

    def __init__(self, slot_bits: int, formats: FormatSet):
        super().__init__({"enable": Out(1), "slot": Out(slot_bits), "header": In(layout(formats.packet_header))})


class StoredPacketsSignature(wiring.Signature):
    """Packets in the buffer, seen from whoever decides on them.

    A look-up that is taken in the cycle of a packet's event THERE or later finds it, until it is freed.

    Parameters
    ----------
    slot_bits, hash_bits : int
        Bits of a slot's number; those of the hash that a key brings, 0 if it brings none.
    formats : FormatSet
        For keys and headers.

    Members
    -------
    lookup : ``Out(LookUpSignature)``
        Where a packet is.
    header : ``Out(HeaderViewSignature)``
        The header in a slot.
    arrival : ``In(stream.Signature({key, slot, what}))``
        A packet comes in; it is always taken.
    """

    def __init__(self, slot_bits: int, hash_bits: int, formats: FormatSet):
        super().__init__({
            "lookup": Out(LookUpSignature(slot_bits, hash_bits, formats)),
            "header": Out(HeaderViewSignature(slot_bits, formats)),
            "arrival": In(stream.Signature(arrival_layout(slot_bits, formats))),
        })
