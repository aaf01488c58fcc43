"""Beside the streams of a small part: inputs driven by a function, memories, packets."""

import random
from collections.abc import Callable, Mapping
from typing import Any

from amaranth.hdl import ValueLike

Read = Callable[[ValueLike], int]


class Inputs:
    """Inputs that a function drives in each cycle; a second one looks at the part before the clock edge.

    Parameters
    ----------
    drive : callable
        Called with a function that sets a signal to bits.
    settle : callable, optional
        Called with a function that reads a signal's bits.
    """

    def __init__(self, drive: Callable[[Callable[[ValueLike, int], None]], None],
                 settle: Callable[[Read], None] | None = None):
        self._drive, self._settle = drive, settle

    def drive(self, context: Any) -> None:
        """Sets the inputs of this cycle."""
        self._drive(context.set)

    def settle(self, read: Read) -> None:
        """Looks at this cycle."""
        if self._settle is not None:
            self._settle(read)


class OperandMemory:
    """The memory behind an :class:`~rtl.cou.operand_signature.OperandSignature`, seen from the part that reads: a word
    is in the first register a cycle after `enable`, in the second one, `data`, a cycle after the next `advance`.

    Parameters
    ----------
    port : OperandSignature
        Of the part.
    word : callable
        Bits at an address.
    """

    def __init__(self, port: Any, word: Callable[[int], int]):
        self.port, self.word = port, word
        self._output, self._register = 0, 0
        self.addresses: list[int] = []

    def drive(self, context: Any) -> None:
        """Sets the word that has been read."""
        context.set(self.port.data, self._register)

    def settle(self, read: Read) -> None:
        """Reads, and takes what has been read into the register."""
        if read(self.port.advance):
            self._register = self._output
        if read(self.port.enable):
            self.addresses.append(read(self.port.address))
            self._output = self.word(self.addresses[-1])


class Events:
    """Payloads of an event (a stream without `ready`) out of a part, in the order in which they come."""

    def __init__(self, port: Any):
        self.port, self.seen = port, []

    def drive(self, context: Any) -> None:
        """Drives nothing: an event is always taken."""

    def settle(self, read: Read) -> None:
        """Notes an event."""
        if read(self.port.valid):
            self.seen.append(read(self.port.payload.as_value()))


class Packets:
    """Packets out of a part: a header is taken, then the beats that its length says, then the next one.

    What is on offer stays as it is.

    Parameters
    ----------
    port : PacketSignature interface
        Of the part.
    rng : Random
        For pauses.
    flit_bytes : int
        Bytes of a beat.
    """

    def __init__(self, port: Any, rng: random.Random, *, flit_bytes: int):
        self.port, self.rng, self.flit_bytes = port, rng, flit_bytes
        self.pause = 0.5
        self.taken: list[tuple[int, list[int]]] = []
        """Bits of each header with the data of its beats; the last one may still be under way."""
        self._left = 0
        self._waits: dict[str, int | None] = {"header": None, "payload": None}

    def drive(self, context: Any) -> None:
        """Takes a header or a beat, whichever is due, or none."""
        takes = self.rng.random() >= self.pause
        context.set(self.port.header.ready, takes and not self._left)
        context.set(self.port.payload.ready, takes and bool(self._left))

    def settle(self, read: Read) -> None:
        """Notes a header or a beat that is being taken."""
        for name in ("header", "payload"):
            port = getattr(self.port, name)
            item = read(port.payload.as_value()) if read(port.valid) else None
            assert self._waits[name] in (None, item), f"a {name} was taken back, or changed"
            taken = item is not None and read(port.ready)
            self._waits[name] = None if taken else item
            if taken and name == "header":
                self.taken.append((item, []))
                self._left = -(-read(port.payload.length) // self.flit_bytes)
            elif taken:
                self._left -= 1
                assert read(port.payload.last) == (self._left == 0), "a packet of another length"
                self.taken[-1][1].append(read(port.payload.data))


def pack(shape: Any, values: Mapping[str, int]) -> int:
    """The bits of a struct whose fields are given as numbers; those left out are 0."""
    bits = 0
    for name, value in values.items():
        field = shape[name]
        bits |= (value & (1 << field.width) - 1) << field.offset
    return bits


def pack_all(shape: Any, values: Mapping[str, Any]) -> int:
    """The bits of a struct, with structs in it."""
    return pack(shape, {
        name: pack_all(shape[name].shape, value) if isinstance(value, Mapping) else value
        for name, value in values.items()
    })
