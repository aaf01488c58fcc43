"""Layouts of the streams between the packet buffer and its users."""

from amaranth import Const, Value
from amaranth.lib import data, enum
from amaranth.utils import bits_for

from firmware_models.abi import formats
from firmware_models.abi.formats import WIRE, FormatSet
from firmware_models.config import Config
from rtl.abi import HashKey, layout
from rtl.buffer.hash_function import hash_index

Departure = data.StructLayout({"job_id": formats.JOB_BITS, "count": 2, "duplicate": 1, "shared": 1})
"""A packet has left the packet buffer, worth so many reports to the job table:
:class:`~rtl.credit.shared_pool.SharedPool` says how many. Or it was dropped as a `duplicate`, worth one; `shared`: it
had travelled on a shared credit."""


def key_fields(header) -> dict[str, Value]:
    """Fields of a packet's key, as its header has them."""
    names = {"node_id": "dest_id", "vp": "dest_vp"}
    return {name: header[names.get(name, name)] for name in HashKey.members}


def tag_entries(config: Config) -> int:
    """Entries of the tag table: one a slot, eight of them at least."""
    return max(8, config.buffer_slots)


def hash_bits(config: Config) -> int:
    """Bits of the hash that a key may bring to the tag table; 0 if the table has hashes of its own."""
    return bits_for(tag_entries(config) - 1) if config.cou.buffer_mode == "linear" else 0


def key_hash(key, bits: int) -> Value:
    """That hash, of so many bits."""
    return hash_index(key, bits) if bits else Const(0, 0)


def on_shared_credit(header) -> Value:
    """A collective packet travels on a shared credit, by its header; multicasts do not."""
    return header.loan & ~header.multicast


class Arrival(enum.Enum, shape=2):
    """Events of an arriving packet."""

    COMING = 0
    """Its header is in its slot, its tag on its way to the table, which may know the key already."""
    THERE = 1
    """Look-ups find it."""
    DROPPED = 2
    """The table knew the key: the slot is free again."""


def arrival_layout(slot_bits: int, formats: FormatSet = WIRE) -> data.StructLayout:
    """A packet that comes in."""
    return data.StructLayout({"key": layout(formats.hash_key), "slot": slot_bits, "what": Arrival})


def free_layout(slot_bits: int, formats: FormatSet) -> data.StructLayout:
    """A packet that has been read, and how many reports it is worth."""
    return data.StructLayout({"key": layout(formats.hash_key), "slot": slot_bits, "n_left": 2})


def exit_layout(slot_bits: int, hash_bits: int, formats: FormatSet) -> data.StructLayout:
    """A packet that leaves the buffer, with the hash of its key."""
    return data.StructLayout({"free": free_layout(slot_bits, formats), "hash": hash_bits})
