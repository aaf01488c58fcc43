"""Beside the streams of a small part: inputs driven by a function, memories behind read ports, faults on purpose."""

import inspect
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
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
    """The memory behind an :class:`~rtl.cou.memory_port.OperandPort`, seen from the part that reads: a word is in
    the first register a cycle after `enable`, in the second one, `data`, a cycle after the next `advance`.

    Parameters
    ----------
    port : OperandPort
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


def pack(shape: Any, values: Mapping[str, int]) -> int:
    """The bits of a struct whose fields are given as numbers; those left out are 0."""
    bits = 0
    for name, value in values.items():
        field = shape[name]
        bits |= (value & (1 << field.width) - 1) << field.offset
    return bits


def faulty(component: type, right: str, wrong: str) -> Any:
    """A component with a fault: in its module's source `wrong` stands instead of `right`, which is there once."""
    module = sys.modules[component.__module__]
    source = inspect.getsource(module)
    if source.count(right) != 1:
        raise ValueError(f"{right!r} must stand once in {module.__name__}, not {source.count(right)} times")
    planted = ModuleType(module.__name__)
    planted.__file__ = module.__file__
    exec(compile(source.replace(right, wrong), module.__file__, "exec"), vars(planted))
    return getattr(planted, component.__name__)
