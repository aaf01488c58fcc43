"""The interface that all tag tables of the packet buffer have."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.abi import HashKey

STEP_BITS = 12
"""Bits of a count of insertion steps; it saturates."""
LEVEL_BITS = 8
"""Bits of the number of entries in a stash."""


def tag_layout(slot_bits: int) -> data.StructLayout:
    """A tag: a key, and the slot of its packet."""
    return data.StructLayout({"key": HashKey, "slot": slot_bits})


def answer_layout(slot_bits: int) -> data.StructLayout:
    """Answer to a look-up: `slot` means something only with `hit`.

    `error`: the tag found has a double error; almost certainly it is the one wanted, its packet's header knows.
    """
    return data.StructLayout({"hit": 1, "slot": slot_bits, "error": 1})


class TableFiguresSignature(wiring.Signature):
    """How the tags of a table fare, seen from the table.

    Members
    -------
    settled : ``Out(1)``, steps : ``Out(12)``
        Pulse: a tag has come to rest until others displace it; how often the table was read for it.
    stash_level : ``Out(8)``
        Tags in the stash.
    """

    def __init__(self):
        super().__init__({"settled": Out(1), "steps": Out(STEP_BITS), "stash_level": Out(LEVEL_BITS)})


class TableTestSignature(wiring.Signature):
    """Errors to be planted in the memories of a table, seen from whoever plants them.

    Members
    -------
    flip, flip_bit : ``Out(2)``, ``Out(8)``
        How many bits, from `flip_bit` on, are to be inverted in what the next write puts into the memories.
    flipped : ``In(1)``
        Pulse: that has been done.
    """

    def __init__(self):
        super().__init__({"flip": Out(2), "flip_bit": Out(8), "flipped": In(1)})


def tag_table_members(slot_bits: int) -> dict:
    """Ports of a tag table.

    insert : ``In(stream.Signature({key, slot}))``
        Tags to be put in. They end in order, each with `done`.
    done : ``Out(1)``
        Pulse: an insertion has ended. Look-ups taken from this cycle on find it.
    duplicate : ``Out(1)``
        With `done`: the key was there already, the table is as it was.
    done_slot : ``Out(slot_bits)``
        With `done`: slot of the tag.
    remove : ``In(stream.Signature({key, slot}))``
        Tags to be taken out, as a look-up gave them. Look-ups taken after it do not find it. A tag whose key is not
        there, or there with another slot, is ignored.
    removed, removed_slot : ``Out``
        Pulse: the removal has ended, the slot can be used again. There is none for a tag that is ignored.
    lookup : ``In(stream.Signature(HashKey))``
        Keys to be found.
    o_lookup : ``Out(stream.Signature({hit, slot, error}))``
        An answer for each, in order.
    figures : ``Out(TableFiguresSignature)``
        How tags fare.
    test : ``In(TableTestSignature)``
        Test input.
    corrected, uncorrectable : ``Out(1)``
        Pulses: a single error was met and put right, or a double one met.
    """
    tag = tag_layout(slot_bits)
    return {
        "insert": In(stream.Signature(tag)),
        "done": Out(1), "duplicate": Out(1), "done_slot": Out(slot_bits),
        "remove": In(stream.Signature(tag)),
        "removed": Out(1), "removed_slot": Out(slot_bits),
        "lookup": In(stream.Signature(HashKey)),
        "o_lookup": Out(stream.Signature(answer_layout(slot_bits))),
        "figures": Out(TableFiguresSignature()), "test": In(TableTestSignature()),
        "corrected": Out(1), "uncorrectable": Out(1),
    }
