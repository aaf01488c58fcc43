"""Host memory of a bench, as a unit and its checker see it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Windows = Callable[[Mapping[str, int]], bool]
"""Answer to a check of an address, from its fields."""


@dataclass
class HostMemory:
    """Bytes from address 0 on.

    Members
    -------
    content : bytearray
        The bytes.
    bad : set of int
        First addresses of requests that are answered with an error.
    refused : set of int
        Addresses that lie in no window.
    """

    content: bytearray
    bad: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)

    def read(self, address: int, size: int) -> bytes | None:
        """Content, or None if the memory refuses."""
        assert address + size <= len(self.content), f"host memory ends before {address + size:#x}"
        return None if address in self.bad else bytes(self.content[address:address + size])

    def write(self, address: int, content: bytes) -> bool:
        """True if the memory takes it."""
        assert address + len(content) <= len(self.content), f"host memory ends before {address + len(content):#x}"
        if address in self.bad:
            return False
        self.content[address:address + len(content)] = content
        return True

    def allows(self, query: Mapping[str, int]) -> bool:
        """Answer of the memory windows."""
        return query["addr"] not in self.refused

    def copy(self) -> "HostMemory":
        """A memory that changes by itself."""
        return HostMemory(bytearray(self.content), set(self.bad), set(self.refused))
