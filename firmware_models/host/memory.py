"""Host memory: how the library reaches it, and how it hands it out."""

from collections.abc import Callable
from typing import Protocol

from .error import HostError

ALIGNMENT = 64
"""Alignment of every allocation, or more: the widest flit."""


class Memory(Protocol):
    """Memory that host and NIC share."""

    def load(self, address: int, n_bytes: int) -> bytes:
        """Some bytes."""

    def store(self, address: int, data: bytes) -> None:
        """Writes some bytes."""


class Allocator:
    """Hands out memory from below; none comes back.

    Parameters
    ----------
    first : int
        First address that is free.
    limit : callable
        The first address behind the memory.
    owner : str
        Whose memory it is, for messages.
    """

    def __init__(self, *, first: int, limit: Callable[[], int], owner: str):
        self._free, self._limit, self._owner = first, limit, owner

    def allocate(self, n_bytes: int, *, alignment: int = ALIGNMENT) -> int:
        """Address of `n_bytes` of fresh memory. Raises :class:`HostError` if there is none left."""
        address = -(-self._free // alignment) * alignment
        end = address + -(-max(n_bytes, 1) // ALIGNMENT) * ALIGNMENT
        if end > self._limit():
            raise HostError(f"memory of {self._owner} must hold {end} bytes, not {self._limit()}")
        self._free = end
        return address
