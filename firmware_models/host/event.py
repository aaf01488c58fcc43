"""Events that the NIC reports to the host: completions, mini packets, figures of its buffers."""

from collections.abc import Mapping
from dataclasses import dataclass

from firmware_models.abi.encoding import CplKind, Status
from firmware_models.abi.formats import PAYLOAD_BYTES


@dataclass(frozen=True)
class Completion:
    """An entry of a completion queue."""

    status: Status
    kind: CplKind
    job_id: int
    vp: int
    bytes: int
    tag: int
    detail: int
    timestamp: int

    @classmethod
    def of(cls, entry: Mapping[str, int]) -> "Completion":
        """From the fields of an entry."""
        return cls(
            status=Status(entry["status"]), kind=CplKind(entry["kind"]), job_id=entry["job_id"], vp=entry["vp"],
            bytes=entry["bytes"], tag=entry["tag"], detail=entry["detail"], timestamp=entry["timestamp"],
        )


@dataclass(frozen=True)
class Received:
    """An entry of a receive queue: one mini packet."""

    payload: bytes
    source_id: int
    source_vp: int
    timestamp: int

    @classmethod
    def of(cls, entry: Mapping[str, int]) -> "Received":
        """From the fields of an entry."""
        return cls(
            payload=entry["payload"].to_bytes(PAYLOAD_BYTES, "little")[:entry["length"]],
            source_id=entry["source_id"], source_vp=entry["source_vp"], timestamp=entry["timestamp"],
        )


@dataclass(frozen=True)
class BufferFigures:
    """Figures of one packet buffer; levels as fractions of its usable capacity, means over the cycles since reset."""

    now: float
    peak: float
    mean: float
    steps_mean: float
    steps_max: int
    stash_peak: int
    suspended: int
    corrected: int
    uncorrectable: int
    unlent: int


@dataclass(frozen=True)
class JobState:
    """State of a job at a NIC: an operation, credits that peers have not returned, packets (and shared credits that
    peers hold) that are `kept`."""

    closed: bool
    refused: bool
    in_progress: bool
    owing: bool
    kept: int

    @property
    def at_rest(self) -> bool:
        """Nothing of it is left."""
        return not (self.in_progress or self.owing or self.kept)

    def __str__(self) -> str:
        parts = ["an operation"] * self.in_progress + ["credits out"] * self.owing
        return ", ".join([*parts, f"{self.kept} packets"])
