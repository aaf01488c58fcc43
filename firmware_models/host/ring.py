"""Rings in host memory: where an entry stands, which entries are there, which may be overwritten.

Indexes count entries since the ring was set up, modulo 2**16; an entry's position is its index modulo the size of the
ring. An entry that the NIC has written bears the phase of its lap.
"""

from collections import deque

from firmware_models.abi import registers
from firmware_models.abi.format import Format
from firmware_models.abi.formats import DESCRIPTOR

from .error import HostError
from .memory import Memory

INDEXES = 1 << registers.INDEX_BITS
"""Indexes there are; more than the entries of the largest ring."""
_C, _CH, _CT = (1 << DESCRIPTOR.offset(name) for name in ("c", "ch", "ct"))


class EntryRing:
    """A ring of equal entries.

    Parameters
    ----------
    memory : Memory
        Where it stands.
    base, log2 : int
        Its address; logarithm of its entries.
    entry : Format
        What an entry is.
    """

    def __init__(self, memory: Memory, *, base: int, log2: int, entry: Format):
        self.memory, self.base, self.log2, self.entry = memory, base, log2, entry
        # A format counts its fields each time that it is asked; rings ask for each entry.
        self.entry_bytes = entry.bytes

    @property
    def size(self) -> int:
        """Entries."""
        return 1 << self.log2

    def address(self, index: int) -> int:
        """Address of the entry with an index."""
        return self.base + index % self.size * self.entry_bytes

    def last_word(self, index: int) -> int:
        """Address of the last word of that entry, which the NIC writes last."""
        return self.address(index) + self.entry_bytes - 8


class EventRing(EntryRing):
    """A ring that the NIC writes and the host reads: completions, or mini packets received.

    Parameters
    ----------
    memory, base, log2, entry
        As for :class:`EntryRing`.
    first : int
        Index of the first entry: 0 after a commit of the port.
    """

    def __init__(self, memory: Memory, *, base: int, log2: int, entry: Format, first: int = 0):
        super().__init__(memory, base=base, log2=log2, entry=entry)
        self.consumed = first
        """Index after the last entry read, as it is written to the NIC."""
        self._phase_at = entry.offset("phase")

    def clear(self) -> None:
        """Makes every entry one that the NIC has not written: memory may hold those of an earlier run."""
        stale = {phase: (phase << self._phase_at).to_bytes(self.entry_bytes, "little") for phase in (0, 1)}
        indexes = range(self.consumed, self.consumed + self.size)
        self.memory.store(self.base, b"".join(
            stale[1 - self.phase(index)] for index in sorted(indexes, key=lambda index: index % self.size)
        ))

    def phase(self, index: int) -> int:
        """Phase of the entry with an index: 1 in the first lap."""
        return 1 - (index % INDEXES >> self.log2) % 2

    @property
    def has_next(self) -> bool:
        """True if the next entry is there."""
        return self._next_bits() is not None

    def peek(self) -> dict[str, int] | None:
        """The next entry, if it is there."""
        bits = self._next_bits()
        return None if bits is None else self.entry.from_int(bits)

    def take(self) -> dict[str, int] | None:
        """The next entry, if it is there; it counts as read then."""
        entry = self.peek()
        if entry is not None:
            self.consumed = (self.consumed + 1) % INDEXES
        return entry

    def _next_bits(self) -> int | None:
        bits = int.from_bytes(self.memory.load(self.address(self.consumed), self.entry_bytes), "little")
        return bits if bits >> self._phase_at & 1 == self.phase(self.consumed) else None


class DescriptorRing(EntryRing):
    """A ring that the host writes and the NIC reads. What has not been fetched is never overwritten.

    The NIC does not say how far it has read. But it reads in order, and every unit (a point-to-point descriptor, or a
    sequence from CH to CT) ends in one completion: once there are as many completions as units, from the first one on,
    those units have been fetched. Completions may come in another order than units; then some units count as unread
    that have been read, never the other way round.

    A sequence without CT ends where the next unit begins, or at the doorbell. Beyond the longest sequence that a NIC
    takes it may end in more than one completion; who rings for such has to keep count with :meth:`release`.

    Parameters
    ----------
    memory, base, log2
        As for :class:`EntryRing`.
    first : int
        Index of the first descriptor: 0 after a commit of the port.
    name : str
        Of the ring, for messages.
    """

    def __init__(self, memory: Memory, *, base: int, log2: int, first: int = 0, name: str = "descriptor ring"):
        super().__init__(memory, base=base, log2=log2, entry=DESCRIPTOR)
        self.produced = first
        """Index after the last descriptor written: what the doorbell says."""
        self.name = name
        self._unread = 0
        self._units: deque[int] = deque()
        self._open = 0

    @property
    def room(self) -> int:
        """Descriptors that can be put without overwriting any that may not have been fetched."""
        return self.size - self._unread

    def put(self, descriptors: bytes) -> list[int]:
        """Writes packed descriptors; their addresses.

        Raises
        ------
        HostError
            If they cannot fit, or would overwrite descriptors that may not have been fetched. Nothing is written then.
        """
        count = len(descriptors) // self.entry_bytes
        if count > self.size:
            raise HostError(f"{self.name} must hold {count} entries, not {self.size}")
        if count > self.room:
            raise HostError(
                f"{self.name} must have room for {count} more descriptors, not {self.room} of {self.size}: "
                "wait for completions of those before"
            )
        addresses = []
        for number in range(count):
            raw = descriptors[number * self.entry_bytes:(number + 1) * self.entry_bytes]
            addresses.append(self.address(self.produced))
            self.memory.store(addresses[-1], raw)
            self.produced = (self.produced + 1) % INDEXES
            self._count(int.from_bytes(raw[:8], "little"))
        return addresses

    def publish(self) -> int:
        """The index for the doorbell, which also ends an open sequence."""
        self._close()
        return self.produced

    def complete(self) -> None:
        """One more completion has been read: the first unit that counted as unread has been fetched."""
        if self._units:
            self.release(self._units.popleft())

    def release(self, count: int) -> None:
        """The first `count` descriptors that counted as unread have been fetched."""
        self._unread -= min(count, self._unread)

    def _count(self, control: int) -> None:
        """Enters a descriptor, by its first word, in the units that are unread."""
        self._unread += 1
        if not control & _C:
            self._close()
            self._units.append(1)
            return
        if control & _CH:
            self._close()
        self._open += 1
        if control & _CT:
            self._close()

    def _close(self) -> None:
        """The unit whose descriptors have come last ends here."""
        if self._open:
            self._units.append(self._open)
            self._open = 0
