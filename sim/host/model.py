"""A host, as parameters: meaning and bounds of every field. Its values, with their sources, stand in the presets."""

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

_strict = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)
_Nanoseconds = Annotated[float, Field(ge=0, le=1e6, strict=False)]
_SomeNanoseconds = Annotated[float, Field(ge=1, le=1e6, strict=False)]
_Rate = Annotated[float, Field(ge=0.1, le=1e5, strict=False)]
ELEMENT_BYTES = 8
"""Bytes of what `reduce_ns` is the time of."""


@dataclass(frozen=True, config=_strict, kw_only=True)
class Network:
    """The clock that NICs and switches of a cluster have."""

    clock_mhz: Annotated[float, Field(ge=1, le=1e5, strict=False)]
    """Cycles a microsecond; times a flit, the rate of a link."""


@dataclass(frozen=True, config=_strict, kw_only=True)
class Cpu:
    """Processors of a host."""

    cores: Annotated[int, Field(ge=1, le=4096)]
    """Cores; job j runs on core j modulo their number, and jobs of one core wait for each other."""
    post_ns: _Nanoseconds
    """Time to write a descriptor."""
    doorbell_ns: _Nanoseconds
    """Time to write a doorbell; it is on its way then."""
    poll_ns: _SomeNanoseconds
    """Time between two looks at the completion and the receive ring."""
    take_ns: _Nanoseconds
    """Time to take an entry of a ring and find out what it is about."""
    reduce_ns: _Nanoseconds
    """Time to combine eight bytes with eight others, on one core, if memory keeps up."""


@dataclass(frozen=True, config=_strict, kw_only=True)
class Pcie:
    """Bus between host and NIC."""

    one_way_ns: _SomeNanoseconds
    """Latency each way."""
    gbits: _Rate
    """Payload, Gb/s each way; what is beyond the NIC's bus changes nothing."""


@dataclass(frozen=True, config=_strict, kw_only=True)
class Memory:
    """Memory of a host."""

    latency_ns: _Nanoseconds
    """From a read of the NIC's at the host to its first data."""
    gbytes: _Rate
    """GB/s that all cores of a host share: two passes to copy, three to combine."""
    core_gbytes: _Rate
    """GB/s that one core reaches alone."""
    dma_passes: Annotated[float, Field(ge=0, le=100, strict=False)]
    """How often a byte of a message that its NIC reads or writes passes the memory that cores share; 0: in a cache."""


@dataclass(frozen=True, config=_strict, kw_only=True)
class Mpi:
    """How a library sends messages if hosts carry out a collective."""

    call_ns: _Nanoseconds
    """Time of a call until the library's first action of its own: once for each collective, offloaded or not."""
    match_ns: _Nanoseconds
    """Time to begin a message, and to find who waits for one that has come; hosts only, and once at either end."""
    eager_bytes: Annotated[int, Field(ge=0, le=1 << 20)]
    """Longest message that is sent without asking; longer ones are announced, and the receiver gets them."""
    segment_bytes: Annotated[int, Field(ge=0, le=1 << 30)]
    """Trees send long messages in segments of so many bytes; 0: whole."""
    operand_copies: Annotated[int, Field(ge=0, le=4)]
    """How often a reduction copies a process's operand to where it combines; hosts only. 0: it lies there already."""


@dataclass(frozen=True, config=_strict, kw_only=True)
class Noise:
    """Disturbances of processes; none in the presets."""

    late_ns: _Nanoseconds
    """By how much a process that is late calls later than the others."""
    late_share: Annotated[float, Field(ge=0, le=1, strict=False)]
    """Share of the processes that are late; which ones, `seed` says."""
    interrupt_ns: _Nanoseconds
    """For how long a core is taken away each time."""
    interrupt_every_ns: Annotated[float, Field(ge=0, le=1e9, strict=False)]
    """Mean time from the end of an interruption of a core to its next one, drawn exponentially; 0: there is none."""
    seed: Annotated[int, Field(ge=0, le=(1 << 32) - 1)]
    """Of all draws; each core of each node has draws of its own."""


@dataclass(frozen=True, config=_strict, kw_only=True)
class Host:
    """A host and its clock.

    Examples
    --------
    >>> from sim.host import load_host
    >>> load_host("paper").cycles(512.0)
    200.0
    """

    network: Network
    cpu: Cpu
    pcie: Pcie
    memory: Memory
    mpi: Mpi
    noise: Noise

    def cycles(self, nanoseconds: float) -> float:
        """Cycles of the network in some time."""
        return nanoseconds * self.network.clock_mhz / 1000

    def microseconds(self, cycles: float) -> float:
        """Time of some cycles."""
        return cycles / self.network.clock_mhz

    def way_cycles(self) -> float:
        """Cycles of one way over PCIe; at least one, for nothing is seen in the cycle in which it is written."""
        return max(1.0, self.cycles(self.pcie.one_way_ns))

    def read_cycles(self) -> int:
        """Cycles from a read of the NIC's to its first data: there, the memory, and back."""
        return max(1, round(self.cycles(2 * self.pcie.one_way_ns + self.memory.latency_ns)))

    def beat_cycles(self, flit_bytes: int) -> float:
        """Cycles that a flit takes on PCIe each way; at least 1, for the NIC's own bus takes a flit a cycle."""
        return max(1.0, self.cycles(flit_bytes * 8 / self.pcie.gbits))
