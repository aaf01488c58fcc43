"""Layouts that the parts of the queues and the register file exchange."""

from amaranth.lib import data, enum

from firmware_models.abi import formats, registers
from firmware_models.abi.encoding import Right
from rtl.interface import ADDRESS_BITS

INDEX_BITS = registers.INDEX_BITS
"""Ring indexes count entries modulo 2**16; rings are at most half as long, so one lap's entries differ."""


def _record_fields() -> dict[str, int]:
    """Fields of a VP's record, from the registers `vp_<field>` (`_lo` and `_hi` halves joined)."""
    fields: dict[str, int] = {}
    for register in registers.CONTROL_PAGE:
        if register.name.startswith("vp_") and register.name not in ("vp_select", "vp_commit"):
            name = register.name.removeprefix("vp_").removesuffix("_lo").removesuffix("_hi")
            fields[name] = fields.get(name, 0) + register.width
    return fields


VpRecord = data.StructLayout({"enable": 1, **_record_fields()})
"""Settings of a VP that software writes: rings (base, log2 of the entries), first memory window."""

VpCommit = data.StructLayout({"vp": formats.VP_BITS, "wipe": 1, "keep": 1, "record": VpRecord})
"""Loads a record and zeroes the VP's indexes. `wipe` (after reset only) also forgets that the VP has work.

The record's window becomes window 0 and the others are withdrawn, unless `keep`: then all stay as they are.
"""

WINDOW_BITS = registers.CONTROL_PAGE["window_select"].width


def window_layout(address_bits: int = ADDRESS_BITS) -> data.StructLayout:
    """Memory [base, limit) and what it may be used for, a bit for each ``Right``; no right, no window."""
    return data.StructLayout({"base": address_bits, "limit": address_bits, "rights": len(Right)})


WindowCommit = data.StructLayout({"vp": formats.VP_BITS, "index": WINDOW_BITS, "window": window_layout()})
"""Registers one window of a VP."""


class DoorbellKind(enum.Enum, shape=2):
    """Which index a doorbell brings."""

    DQ_PROD = 0
    """Index after the last descriptor written."""
    CQ_CONS = 1
    """Index after the last completion read."""
    RQ_CONS = 2
    """Index after the last receive entry read."""


FETCH_BATCH = 8
"""Most descriptors that are fetched at once, by default."""

Doorbell = data.StructLayout({"vp": formats.VP_BITS, "kind": DoorbellKind, "index": INDEX_BITS})


def turn_layout(address_bits: int = ADDRESS_BITS) -> data.StructLayout:
    """A VP's turn: `count` descriptors stand from index `cons` of its ring on; `room` completions fit into its CQ.

    `mask`: the bits of an index that count in the ring, which has a power of two entries.
    `blocked`: its last turn ended at a unit that could not be taken. `expired`: the first unit has been waiting for
    room for `retry_limit` cycles, and is to be refused.
    `serves`: some unit may be served: it is enabled, and neither `count` nor `room` is 0. `first` descriptors are
    fetched to begin with; `whole`: these are all that there are.
    """
    return data.StructLayout({
        "vp": formats.VP_BITS,
        "enable": 1,
        "base": address_bits,
        "mask": INDEX_BITS,
        "cons": INDEX_BITS,
        "count": INDEX_BITS,
        "room": INDEX_BITS,
        "blocked": 1,
        "expired": 1,
        "serves": 1,
        "first": INDEX_BITS,
        "whole": 1,
    })


TurnEnd = data.StructLayout({
    "vp": formats.VP_BITS,
    "cons": INDEX_BITS,
    "taken": INDEX_BITS,
    "blocked": 1,
    "crowded": 1,
})
"""Ends a turn: the next descriptor is at `cons`; `taken` units were taken, each of which posts one completion.

`crowded`: the target of the unit at `cons` had no room.
"""

