"""Words on the wire of a reliable link, between its two ends: ``docs/link.md``.

A word is `data_width` bits of data, or a control word: the fields below in its lowest bits, their `crc` in its highest
32, zeros between (none at 64 bits).
"""

from enum import IntEnum

from .format import Field, Format, reserved

POSITION_BITS = 12
"""Bits of the number of a flit in its channel; links of fewer flits use the lower ones."""
CRC_BITS = 32
LINK_VERSION = 1


class ControlKind(IntEnum):
    """Kind of a control word, by the words that follow it."""

    IDLE = 0
    """No data before the next control word."""
    DATA = 1
    """Data of one channel: a run of flits."""
    TRAIN = 2
    """No data; the other fields are those of a training word."""


_kind = Field("kind", 2, "What follows.", ControlKind)
_crc = Field(
    "crc", CRC_BITS,
    "CRC-32C of the data since the control word before and of this word's other bits, continued from that word's.",
)

LINK_CONTROL = Format(
    "link_control",
    "Control word: ends the run before, begins the next one, and brings news of the other direction.",
    (
        _kind,
        Field("ends", 1, "The data word before was the last flit of its packet."),
        Field("bad", 1, "That packet is to be dropped: it was damaged on a link before this one."),
        Field("vc", 1, "Channel of the run that begins; if none does, of `position`."),
        Field("position", POSITION_BITS, "Number of the channel's next flit."),
        Field("about", 1, "`value` is about this channel of the other direction."),
        Field("is_credit", 1, "`value` counts flits whose room is free again; else flits of packets that came whole."),
        Field("replay", 1, "Flits are missing: they are to be sent again from `value` on."),
        Field("value", POSITION_BITS, "Counted from reset on."),
        _crc,
    ),
)

LINK_TRAINING = Format(
    "link_training",
    "Training word: sent until both ends have seen each other's.",
    (
        _kind,
        Field("seen", 1, "The sender has seen the other end's training words."),
        Field("fresh", 1, "It has not been up since its reset."),
        Field("version", 4, "Version of these formats, 1."),
        Field("width", 2, "Data width: 64 << width bits."),
        Field("buffer", 4, "Logarithm of the flits that its receiver holds for each channel."),
        Field("replay", 4, "Logarithm of the flits that its sender keeps for each channel."),
        reserved(0, 14),
        _crc,
    ),
)

LINK_FORMATS = (LINK_CONTROL, LINK_TRAINING)
