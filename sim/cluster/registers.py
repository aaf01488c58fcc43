"""Registers and memories inside of the simulated hardware, by their names in the design."""

from collections.abc import Callable
from ctypes import CDLL
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FAULT = (1 << 64) - 1


class UnknownRegisterError(KeyError):
    """There is no register or memory of that name, or nothing follows it, so that the engine has left it out."""


class ClusterInside:
    """The part of a cluster by which one looks into its hardware; see :class:`sim.cluster.Cluster`.

    A name is that of the modules around a register and its own, ``"core.csr.cycles"``; a memory bears a name too, and
    its words stand one behind the other. Values are words of 64 bits, lowest first.
    """

    _api: CDLL
    _handle: Any
    _passed: Callable[[int], int]

    def registers(self, number: int, *, is_switch: bool = False) -> list[str]:
        """Names of all registers and memories of a NIC or switch that its engine has."""
        names = self._api.conic_register_names(self._handle, is_switch, number)
        if names is None:
            self._passed(-1)
        return sorted(names.decode().split())

    def peek(self, number: int, name: str, *, is_switch: bool = False) -> int:
        """Value of a register, or of a memory as one number of 64 bits a word. Bits that nothing follows may read 0.

        Raises
        ------
        UnknownRegisterError
            If the engine has none of that name.
        """
        words = np.zeros(self._words(number, name, is_switch), np.uint64)
        self._api.conic_get_register(self._handle, is_switch, number, name.encode(), words.ctypes.data, None)
        return int.from_bytes(words.tobytes(), "little")

    def poke(self, number: int, name: str, value: int, *, is_switch: bool = False) -> None:
        """Gives a register or a memory a value, from the next cycle on. Errors as above."""
        count = self._words(number, name, is_switch)
        words = np.frombuffer(value.to_bytes(8 * count, "little"), np.uint64)
        self._passed(self._api.conic_set_register(self._handle, is_switch, number, name.encode(), words.ctypes.data))

    def known_bits(self, number: int, name: str, *, is_switch: bool = False) -> NDArray[np.uint64]:
        """The bits of a register that the engine has, in words. Errors as above."""
        words = np.zeros(self._words(number, name, is_switch), np.uint64)
        self._api.conic_get_register(self._handle, is_switch, number, name.encode(), None, words.ctypes.data)
        return words

    def select(self, number: int, name: str, bits: NDArray[np.uint64], *, is_switch: bool = False) -> None:
        """Makes bits of a register part of :meth:`selected_hash`."""
        self._passed(self._api.conic_select(
            self._handle, is_switch, number, name.encode(), bits.ctypes.data, len(bits),
        ))

    def selected_hash(self, number: int, *, is_switch: bool = False) -> int:
        """A hash of all bits selected so far, in their order: the same for every engine."""
        return int(self._api.conic_selected_hash(self._handle, is_switch, number))

    def _words(self, number: int, name: str, is_switch: bool) -> int:
        count = int(self._api.conic_get_register(self._handle, is_switch, number, name.encode(), None, None))
        if count == _FAULT:
            raise UnknownRegisterError(self._api.conic_fault().decode())
        return count
