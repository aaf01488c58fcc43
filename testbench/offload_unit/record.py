"""Records of what passes the boundary of an offload unit, by the names of its members."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from firmware_models.abi.formats import PACKET_HEADER

HEADER = {one.name: 0 for one in PACKET_HEADER.fields if not one.is_reserved}
"""Fields of a packet header, all 0."""

MEMBERS = (
    "commands.sequence.probe", "commands.sequence.answer", "commands.sequence.descriptor", "rx[0]", "rx[1]", "tx[0]",
    "tx[1]", "memory.read.request", "memory.read.data", "memory.write.request", "memory.write.done",
    "memory.window.query", "memory.window.answer", "o_event", "o_report", "jobs.closing", "jobs.write_off",
    "jobs.unused_known", "settings", "status.counts", "status.end",
)
"""Kinds of transfers. A descriptor has its inline data, a read its data, and a write request its beats, with it."""


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


@dataclass
class Recording:
    """All transfers of a unit, in the order in which they took place; within a cycle inputs stand first."""

    entries: list[Entry] = field(default_factory=list)
    cycle: int = 0

    def note(self, member: str, item: Any) -> None:
        """Appends a transfer of this cycle."""
        assert member in MEMBERS, f"{member} is no member"
        self.entries.append(Entry(self.cycle, member, item))

    def of(self, member: str) -> list[Any]:
        """Items of one member."""
        return [entry.item for entry in self.entries if entry.member == member]
