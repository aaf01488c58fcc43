"""Wires of a boundary without a simulator: they hold what was put on them last."""

from typing import Any

from amaranth import Signal, Value


class Wires:
    """Stands for the context of a simulator where nothing but Python drives and reads a boundary.

    Reads and sets signals, and reads parts of them, as a context of Amaranth's simulator does. A subclass may carry
    them to and from a simulator.
    """

    def __init__(self) -> None:
        self._bits: dict[int, int] = {}
        self._known: dict[int, Signal] = {}

    def get(self, value: Any) -> int:
        """Bits of a signal, or of a part of one."""
        if type(value) is Signal:
            return self.sample(value)
        signal = Value.cast(value)
        if isinstance(signal, Signal):
            return self.sample(signal)
        return self.sample(signal.value) >> signal.start & (1 << len(signal)) - 1

    def set(self, signal: Any, value: int) -> None:
        """Puts bits on a signal."""
        whole = signal if type(signal) is Signal else Value.cast(signal)
        self.put(whole, int(value) & (1 << len(whole)) - 1)

    def sample(self, signal: Signal) -> int:
        """Bits of a whole signal."""
        return self._bits.get(id(signal), 0)

    def put(self, signal: Signal, bits: int) -> None:
        """Puts bits on a whole signal."""
        self._known[id(signal)] = signal
        self._bits[id(signal)] = bits
