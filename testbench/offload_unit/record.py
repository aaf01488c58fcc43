"""Records of what passes the boundary of an offload unit, by the names of its members."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from firmware_models.abi.formats import PACKET_HEADER

HEADER = {one.name: 0 for one in PACKET_HEADER.fields if not one.is_reserved}
"""Fields of a packet header, all 0."""

MEMBERS = (
    "commands.sequence.probe", "commands.sequence.answer", "commands.sequence.descriptor", "rx[0]", "rx[1]", "tx[0]",
    "tx[1]", "memory.read.request", "memory.write.request", "memory.write.done", "memory.window.query", "o_event",
    "o_report", "jobs.closing", "jobs.write_off", "jobs.unused_known", "settings", "status.counts", "status.end",
)
"""Kinds of transfers. A descriptor has its inline data with it, a packet its payload, a write its content."""


class NotCoveredError(Exception):
    """The model does not cover what is asked of it."""


@dataclass(frozen=True)
class Packet:
    """A packet: the header's fields, and as many bytes of payload as its `length` says."""

    header: Mapping[str, int]
    payload: bytes = b""

    @classmethod
    def make(cls, payload: bytes = b"", **header: int) -> "Packet":
        """A packet with `length` filled in; header fields that are not given are 0."""
        assert header.keys() <= HEADER.keys()
        return cls(HEADER | {"length": len(payload)} | header, payload)

    def changed(self, **header: int) -> "Packet":
        """The same packet with other header fields."""
        return replace(self, header=dict(self.header) | header)

    @property
    def key(self) -> tuple[int, int, int, int, int]:
        """JobID, NodeID and VP of the destination, SeqID, pulse."""
        h = self.header
        return h["job_id"], h["dest_id"], h["dest_vp"], h["seq_id"], h["pulse"]


@dataclass(frozen=True)
class Entry:
    """A transfer on `member` in a cycle."""

    cycle: int
    member: str
    item: Any


class Recording:
    """All transfers of a unit, in the order in which they began; within a cycle inputs stand first."""

    def __init__(self) -> None:
        self._entries: list[Entry | None] = []
        self.cycle = 0

    @property
    def entries(self) -> list[Entry]:
        """Transfers that are complete."""
        return [entry for entry in self._entries if entry is not None]

    def note(self, member: str, item: Any) -> None:
        """Appends a transfer of this cycle."""
        self.begin(member)(item)

    def begin(self, member: str) -> Callable[[Any], None]:
        """Keeps the place of a transfer that begins in this cycle; returns a function that puts the item there."""
        assert member in MEMBERS, f"{member} is no member"
        at, cycle = len(self._entries), self.cycle
        self._entries.append(None)

        def complete(item: Any) -> None:
            self._entries[at] = Entry(cycle, member, item)

        return complete

    def of(self, member: str) -> list[Any]:
        """Items of one member."""
        return [entry.item for entry in self.entries if entry.member == member]
