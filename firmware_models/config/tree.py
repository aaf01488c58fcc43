"""The configuration tree. Every bound stands here, beside the field that it bounds.

Fields that the hardware fixes by format (JobID, NodeID, VP, SeqID widths) are no parameters: they stand in
``firmware_models.abi.formats``.
"""

from typing import Annotated, Literal, get_args

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

ReduceDatatype = Literal["float64", "int64", "uint64", "float32", "int32", "double_int"]
"""Names of the element types that the reduce unit has operators for."""

BUFFER_STASH = 8
"""Tags that the stash of a packet buffer in mode cuckoo holds."""

CONSUMED_EARLY = 4
"""Packets of one unit whose credit is back already while they still lie in its packet buffer, being consumed."""

_strict = ConfigDict(extra="forbid", strict=True)


def _power_of_two(name: str, value: int) -> None:
    if value & (value - 1):
        raise ValueError(f"{name} must be a power of two, not {value!r}")


@dataclass(frozen=True, config=_strict, kw_only=True)
class DatapathConfig:
    """Widths of the data path."""

    data_width: Literal[64, 128, 256, 512] = 64
    """Bits of a flit."""
    mtu: Annotated[int, Field(ge=64, le=4096)] = 256
    """Largest payload of a packet in bytes; a power of two."""
    block_memories: bool = False
    """Whether operands and the queues of the DMA engine are in block RAM however few they hold: fewer logic cells."""

    @model_validator(mode="after")
    def _check(self) -> "DatapathConfig":
        _power_of_two("mtu", self.mtu)
        return self

    @property
    def flit_bytes(self) -> int:
        """Bytes of a flit."""
        return self.data_width // 8


@dataclass(frozen=True, config=_strict, kw_only=True)
class NicConfig:
    """What a NIC has of each."""

    n_vps: Annotated[int, Field(ge=2, le=2048)] = 16
    """Virtual ports; a power of two."""
    n_cous: Annotated[int, Field(ge=1, le=16)] = 1
    """Collective offload units; a power of two. A job is served by the one with the least to do when it is touched."""
    n_p2p_tags: Annotated[int, Field(ge=2, le=256)] = 8
    """Point-to-point operations in flight; a power of two."""
    n_windows: Annotated[int, Field(ge=1, le=64)] = 4
    """Memory windows of each virtual port; a power of two."""
    max_burst_beats: Annotated[int, Field(ge=1, le=256)] = 16
    """Longest AXI4 burst; a power of two."""
    get: bool = True
    """Whether it can GET, and others can GET from it; without, descriptors with a GET are refused as UNSUPPORTED."""
    n_groups: Annotated[int, Field(ge=1, le=256)] = 16
    """Multicast groups that a NIC can be a member of at once."""
    address_bits: Annotated[int, Field(ge=32, le=64)] = 64
    """Bits of a host address. An address with a bit beyond them lies in no memory window."""

    @model_validator(mode="after")
    def _check(self) -> "NicConfig":
        for name in ("n_vps", "n_cous", "n_p2p_tags", "n_windows", "max_burst_beats"):
            _power_of_two(name, getattr(self, name))
        return self


@dataclass(frozen=True, config=_strict, kw_only=True)
class CouConfig:
    """One collective offload unit."""

    n_jobs: Annotated[int, Field(ge=1, le=64)] = 4
    """Operations (of different jobs) that one unit has in progress at once; a power of two."""
    n_contexts: Annotated[int, Field(ge=1, le=64)] = 8
    """Pulses that one unit has in progress at once; a power of two, at least n_jobs."""
    sequence_depth: Annotated[int, Field(ge=4, le=1024)] = 32
    """Descriptors of the longest sequence; a power of two."""
    buffer_bytes: Annotated[int, Field(ge=1024, le=1 << 24)] = 32768
    """Payload bytes of the packet buffer; a power of two."""
    buffer_mode: Literal["cuckoo", "linear"] = "cuckoo"
    """How the packet buffer finds its packets: cuckoo hashing, or the paper's open addressing."""
    ecc: bool = False
    """Whether the packet buffer's memories have SECDED check bits."""
    n_peers: Annotated[int, Field(ge=1, le=64)] = 16
    """Peers that may send to one job; a power of two."""
    peer_credits: Annotated[int, Field(ge=1, le=128)] = 1
    """Packets that one peer of one job may always have outstanding at a receiver."""
    lending: bool = True
    """Whether packets that the buffer takes beyond these are lent to peers that ask for more."""
    n_blocks: Annotated[int, Field(ge=2, le=256)] = 32
    """Blocks that a message may be cut into; a power of two."""
    intermediate_bytes: Annotated[int, Field(ge=64, le=1 << 20)] = 2048
    """Intermediate result of one pulse: what it takes of all blocks; a power of two, at least the mtu."""

    @model_validator(mode="after")
    def _check(self) -> "CouConfig":
        for name in (
            "n_jobs", "n_contexts", "sequence_depth", "buffer_bytes", "n_peers", "n_blocks", "intermediate_bytes",
        ):
            _power_of_two(name, getattr(self, name))
        if self.n_contexts < self.n_jobs:
            raise ValueError(f"n_contexts must be at least n_jobs ({self.n_jobs}), not {self.n_contexts!r}")
        return self


@dataclass(frozen=True, config=_strict, kw_only=True)
class ReduceConfig:
    """The reduce unit."""

    add_cycles: Annotated[int, Field(ge=5, le=16)] = 8
    """Cycles of the floating-point adder, and so of every operator."""
    datatypes: Annotated[tuple[ReduceDatatype, ...], Field(strict=False, min_length=1)] = get_args(ReduceDatatype)
    """Element types that can be reduced; the hardware for others is left out."""
    multiply: bool = True
    """Whether there are multipliers, for the operator prod."""

    @model_validator(mode="after")
    def _check(self) -> "ReduceConfig":
        if len(set(self.datatypes)) != len(self.datatypes):
            raise ValueError(f"datatypes must be different, not {list(self.datatypes)!r}")
        return self


@dataclass(frozen=True, config=_strict, kw_only=True)
class LinkConfig:
    """One link between a NIC and a switch."""

    n_vcs: Literal[2] = 2
    """Virtual channels: 0 carries data, 1 carries credits and answers."""
    buffer_flits: Annotated[int, Field(ge=16, le=4096)] = 64
    """Flits that a receiver holds for each virtual channel; a power of two."""

    @model_validator(mode="after")
    def _check(self) -> "LinkConfig":
        _power_of_two("buffer_flits", self.buffer_flits)
        return self


@dataclass(frozen=True, config=_strict, kw_only=True)
class SwitchConfig:
    """One switch."""

    radix: Annotated[int, Field(ge=2, le=64)] = 8
    """Ports."""
    table_entries: Annotated[int, Field(ge=2, le=65536)] = 64
    """NodeIDs that the unicast table covers, from 0; a power of two. Others go to the default port."""
    mft_entries: Annotated[int, Field(ge=16, le=16384)] = 128
    """MLIDs that the multicast forwarding table covers, from 0xC000; a power of two."""
    match_iterations: Annotated[int, Field(ge=1, le=4)] = 2
    """Iterations of the matching of inputs and outputs in each cycle."""

    @model_validator(mode="after")
    def _check(self) -> "SwitchConfig":
        _power_of_two("table_entries", self.table_entries)
        _power_of_two("mft_entries", self.mft_entries)
        return self


@dataclass(frozen=True, config=_strict, kw_only=True)
class Config:
    """Everything that a build of the hardware is made from."""

    datapath: DatapathConfig = Field(default_factory=DatapathConfig)
    nic: NicConfig = Field(default_factory=NicConfig)
    cou: CouConfig = Field(default_factory=CouConfig)
    reduce: ReduceConfig = Field(default_factory=ReduceConfig)
    link: LinkConfig = Field(default_factory=LinkConfig)
    switch: SwitchConfig = Field(default_factory=SwitchConfig)

    @model_validator(mode="after")
    def _check(self) -> "Config":
        if self.cou.intermediate_bytes < self.datapath.mtu:
            raise ValueError(
                f"cou.intermediate_bytes must be at least the mtu ({self.datapath.mtu}), "
                f"not {self.cou.intermediate_bytes!r}"
            )
        need = self.guaranteed_packets + CONSUMED_EARLY
        if self.buffer_packets < need:
            raise ValueError(
                f"cou.buffer_bytes must hold n_jobs x n_peers x peer_credits + {CONSUMED_EARLY} = {need} packets of "
                f"mtu {self.datapath.mtu} ({need * self.datapath.mtu} bytes), not {self.cou.buffer_bytes!r}"
                + (f", of which buffer_mode {self.cou.buffer_mode} can use {self.buffer_packets} packets"
                   if self.buffer_slots >= need else "")
            )
        return self

    @property
    def guaranteed_packets(self) -> int:
        """Packets that all peers of all jobs may have outstanding at one unit whatever the others do."""
        return self.cou.n_jobs * self.cou.n_peers * self.cou.peer_credits

    @property
    def pool_packets(self) -> int:
        """Packets that a packet buffer takes beyond these, and lends."""
        return self.buffer_packets - CONSUMED_EARLY - self.guaranteed_packets if self.cou.lending else 0

    @property
    def buffer_slots(self) -> int:
        """Packets that one packet buffer has memory for."""
        return self.cou.buffer_bytes // self.datapath.mtu

    @property
    def buffer_packets(self) -> int:
        """Packets that one packet buffer takes, whatever their keys are: credits never exceed it.

        Cuckoo: 95% of the table and the stash, linear: 90% of the table; in both cases there is an entry a slot.
        """
        if self.cou.buffer_mode == "linear":
            return self.buffer_slots * 90 // 100
        return min(self.buffer_slots, self.buffer_slots * 95 // 100 + BUFFER_STASH)

    @property
    def header_flits(self) -> int:
        """Flits of a packet header."""
        return max(1, 256 // self.datapath.data_width)
