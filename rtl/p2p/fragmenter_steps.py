"""Signals that the steps of the fragmenter share."""

from dataclasses import dataclass

from amaranth import Signal
from amaranth.lib import memory
from amaranth.lib.data import View


@dataclass(frozen=True, kw_only=True)
class BufferRoom:
    """Slots of the data buffer, one for each fragment.

    Parameters
    ----------
    free, reading : Signal
        Slots that are free; reads that have not come back.
    reserve, begin_read : Signal
        A slot is taken; a read begins.
    """

    free: Signal
    reading: Signal
    reserve: Signal
    begin_read: Signal


@dataclass(frozen=True, kw_only=True)
class InlineData:
    """Data that a descriptor carries.

    Parameters
    ----------
    word : ReadPort
        Its words.
    beat, left : Signal
        Number of the word that is put into the buffer next; how many are left.
    has_beats, puts : Signal
        There are any; they are being put there.
    """

    word: memory.ReadPort
    beat: Signal
    left: Signal
    has_beats: Signal
    puts: Signal


@dataclass(frozen=True, kw_only=True)
class Operation:
    """The operation that is executed, and what is left of it.

    Parameters
    ----------
    desc, number : View
        Its descriptor; its number and nonce.
    refusal : Signal
        Why it is not executed; ``OK`` if it is.
    is_mini : Signal
        It is one fragment, whose data come with the descriptor.
    local, remote, before, left : Signal
        Addresses of the next fragment, the operation's bytes in front of it, and those from it on.
    is_part : Signal
        There are several fragments, which carry the operation's range.
    index, size, length, final : Signal
        Number of the next fragment, its bytes of data and those of its packet, and whether it is the last one.
    inline : InlineData
        Data that the descriptor carries.
    """

    desc: View
    number: View
    refusal: Signal
    is_mini: Signal
    local: Signal
    remote: Signal
    before: Signal
    left: Signal
    is_part: Signal
    index: Signal
    size: Signal
    length: Signal
    final: Signal
    inline: InlineData
