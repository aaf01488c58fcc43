"""The configuration tree: meaning and bounds of every field. Its values stand in the presets.

Fields that the hardware fixes by format (JobID, NodeID, VP, SeqID widths) are no parameters: they stand in
``firmware_models.abi.formats``.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from firmware_models.abi.formats import WIRE, FormatSet

ReduceDatatype = Literal["float64", "int64", "uint64", "float32", "int32", "double_int"]
"""Names of the element types that the reduce unit has operators for."""

BUFFER_STASH = 8
"""Tags that the stash of a packet buffer in mode cuckoo holds."""

CONSUMED_EARLY = 4
"""Packets of one unit whose credit is back already while they still lie in its packet buffer, being consumed."""

_strict = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)


def _power_of_two(value: int) -> int:
    if value & (value - 1):
        raise ValueError("must be a power of two")
    return value


POWER_OF_TWO = AfterValidator(_power_of_two)
"""Marks a field whose values are powers of two."""


@dataclass(frozen=True, config=_strict, kw_only=True)
class DatapathConfig:
    """Widths of the data path."""

    data_width: Literal[64, 128, 256, 512]
    """Bits of a flit."""
    mtu: Annotated[int, Field(ge=64, le=4096), POWER_OF_TWO]
    """Largest payload of a packet in bytes."""
    block_memories: bool
    """If true, operands and the queues of the DMA engine are in block RAM however few they hold: fewer logic cells."""

    @property
    def flit_bytes(self) -> int:
        """Bytes of a flit."""
        return self.data_width // 8


@dataclass(frozen=True, config=_strict, kw_only=True)
class NicConfig:
    """Numbers and sizes of the parts of a NIC."""

    n_vps: Annotated[int, Field(ge=2, le=2048), POWER_OF_TWO]
    """Virtual ports."""
    n_cous: Annotated[int, Field(ge=1, le=16), POWER_OF_TWO]
    """Collective offload units; a job is served by the one with the least to do when it is touched."""
    n_p2p_tags: Annotated[int, Field(ge=2, le=256), POWER_OF_TWO]
    """Point-to-point operations in flight."""
    n_windows: Annotated[int, Field(ge=1, le=64), POWER_OF_TWO]
    """Memory windows of each virtual port."""
    max_burst_beats: Annotated[int, Field(ge=1, le=256), POWER_OF_TWO]
    """Longest AXI4 burst."""
    reads_under_way: Annotated[int, Field(ge=1, le=256), POWER_OF_TWO]
    """AXI4 read bursts that are asked for and not answered: as many as the latency of host memory needs."""
    read_ahead_beats: Annotated[int, Field(ge=1, le=8192), POWER_OF_TWO]
    """Beats that one block of the NIC can have asked for and not taken, at least max_burst_beats."""
    fetch_batch: Annotated[int, Field(ge=2, le=64), POWER_OF_TWO]
    """Most descriptors that are fetched at once; also the most units of a virtual port's turn."""
    p2p: bool
    """If true, the NIC has a point-to-point path; otherwise its descriptors are refused as UNSUPPORTED."""
    get: bool
    """If true, the NIC can GET, and others can GET from it; otherwise a GET descriptor is refused as UNSUPPORTED."""
    n_groups: Annotated[int, Field(ge=1, le=256)]
    """Multicast groups that a NIC can be a member of at once."""
    address_bits: Annotated[int, Field(ge=32, le=64)]
    """Bits of a host address. An address with a bit beyond them lies in no memory window."""

    @model_validator(mode="after")
    def _check(self) -> "NicConfig":
        if self.get and not self.p2p:
            raise ValueError(f"get must be false without a point-to-point path (p2p: false), not {self.get!r}")
        if self.read_ahead_beats < self.max_burst_beats:
            raise ValueError(
                f"read_ahead_beats must be at least max_burst_beats ({self.max_burst_beats}), "
                f"not {self.read_ahead_beats!r}"
            )
        return self


@dataclass(frozen=True, config=_strict, kw_only=True)
class CouConfig:
    """One collective offload unit."""

    n_jobs: Annotated[int, Field(ge=1, le=64), POWER_OF_TWO]
    """Operations (of different jobs) that one unit has in progress at once."""
    n_contexts: Annotated[int, Field(ge=1, le=64), POWER_OF_TWO]
    """Pulses that one unit has in progress at once, at least n_jobs."""
    sequence_depth: Annotated[int, Field(ge=4, le=1024), POWER_OF_TWO]
    """Descriptors of the longest sequence."""
    buffer_bytes: Annotated[int, Field(ge=1024, le=1 << 24), POWER_OF_TWO]
    """Payload bytes of the packet buffer."""
    buffer_mode: Literal["cuckoo", "linear"]
    """How the packet buffer finds its packets: cuckoo hashing, or the paper's open addressing."""
    ecc: bool
    """If true, the packet buffer's memories have SECDED check bits."""
    n_peers: Annotated[int, Field(ge=1, le=64), POWER_OF_TWO]
    """Peers that may send to one job."""
    peer_credits: Annotated[int, Field(ge=1, le=128)]
    """Packets that one peer of one job may always have outstanding at a receiver."""
    lending: bool
    """If true, slots of the buffer beyond these are granted as shared credits to peers that ask for more."""
    n_blocks: Annotated[int, Field(ge=2, le=256), POWER_OF_TWO]
    """Blocks that a message may be cut into."""
    intermediate_bytes: Annotated[int, Field(ge=64, le=1 << 20), POWER_OF_TWO]
    """Intermediate result of one pulse: what it takes of all blocks, at least the mtu."""

    @model_validator(mode="after")
    def _check(self) -> "CouConfig":
        if self.n_contexts < self.n_jobs:
            raise ValueError(f"n_contexts must be at least n_jobs ({self.n_jobs}), not {self.n_contexts!r}")
        return self


@dataclass(frozen=True, config=_strict, kw_only=True)
class ReduceConfig:
    """The reduce unit."""

    add_cycles: Annotated[int, Field(ge=5, le=16)]
    """Cycles of the floating-point adder, and so of every operator."""
    datatypes: Annotated[tuple[ReduceDatatype, ...], Field(strict=False, min_length=1)]
    """Element types that can be reduced; the hardware for others is left out."""
    multiply: bool
    """If true, there are multipliers, for the operator prod."""

    @model_validator(mode="after")
    def _check(self) -> "ReduceConfig":
        if len(set(self.datatypes)) != len(self.datatypes):
            raise ValueError(f"datatypes must be different, not {list(self.datatypes)!r}")
        return self


@dataclass(frozen=True, config=_strict, kw_only=True)
class LinkConfig:
    """One link between a NIC and a switch."""

    n_vcs: Literal[2]
    """Virtual channels: 0 carries data, 1 carries credits and answers."""
    buffer_flits: Annotated[int, Field(ge=16, le=4096), POWER_OF_TWO]
    """Flits that a receiver holds for each virtual channel."""
    reliable: bool
    """If true, frames with a CRC are acknowledged and sent again, for wires that lose or change what they carry."""
    replay_flits: Annotated[int, Field(ge=16, le=2048), POWER_OF_TWO]
    """If reliable: flits of each virtual channel that a sender keeps until they are acknowledged."""
    replay_cycles: Annotated[int, Field(ge=64, le=65536), POWER_OF_TWO]
    """If reliable: cycles without an acknowledgement after which packets are sent again; more than one takes that waits
    for the end of a packet at either end."""
    dead_cycles: Annotated[int, Field(ge=64, le=1 << 24), POWER_OF_TWO]
    """If reliable: cycles in which a link is down after which what is to be sent by it is thrown away, and counted."""


@dataclass(frozen=True, config=_strict, kw_only=True)
class SwitchConfig:
    """One switch."""

    radix: Annotated[int, Field(ge=2, le=64)]
    """Ports."""
    table_entries: Annotated[int, Field(ge=2, le=65536), POWER_OF_TWO]
    """NodeIDs that the unicast table covers, from 0; others go to the default port."""
    mft_entries: Annotated[int, Field(ge=16, le=16384), POWER_OF_TWO]
    """MLIDs that the multicast forwarding table covers, from 0xC000."""
    match_iterations: Annotated[int, Field(ge=1, le=4)]
    """Iterations of the matching of inputs and outputs in each cycle."""
    readers: Annotated[int, Field(ge=1, le=2)]
    """Packets that each channel of an input sends at once, to different outputs."""


@dataclass(frozen=True, config=_strict, kw_only=True)
class Config:
    """Everything that a build of the hardware is made from."""

    datapath: DatapathConfig
    nic: NicConfig
    cou: CouConfig
    reduce: ReduceConfig
    link: LinkConfig
    switch: SwitchConfig

    @model_validator(mode="after")
    def _check(self) -> "Config":
        if self.cou.intermediate_bytes < self.datapath.mtu:
            raise ValueError(
                f"cou.intermediate_bytes must be at least the mtu ({self.datapath.mtu}), "
                f"not {self.cou.intermediate_bytes!r}"
            )
        if self.nic.p2p and self.datapath.mtu < 2 * self.datapath.flit_bytes:
            raise ValueError(
                f"datapath.mtu must be at least two flits ({2 * self.datapath.flit_bytes}) if nic.p2p, "
                f"not {self.datapath.mtu!r}"
            )
        need = self.guaranteed_packets + CONSUMED_EARLY
        if self.buffer_packets < need:
            raise ValueError(
                f"cou.buffer_bytes must hold n_jobs x n_peers x peer_credits + {CONSUMED_EARLY} = {need} packets of "
                f"mtu {self.datapath.mtu} ({need * self.datapath.mtu} bytes), not {self.cou.buffer_bytes!r}"
                + (f", of which buffer_mode {self.cou.buffer_mode} can use {self.buffer_packets} packets"
                   if self.buffer_slots >= need else "")
            )
        if self.link.reliable:
            self._check_reliable_link()
        return self

    def _check_reliable_link(self) -> None:
        buffer_flits = self.link.buffer_flits
        longest = self.header_flits + self.datapath.mtu // self.datapath.flit_bytes
        if buffer_flits < longest:
            raise ValueError(
                f"link.buffer_flits must be at least {longest}, the flits of a packet of mtu {self.datapath.mtu}, if "
                f"link.reliable, not {buffer_flits!r}"
            )
        if self.link.replay_flits < buffer_flits:
            raise ValueError(
                f"link.replay_flits must be at least link.buffer_flits ({buffer_flits}), not {self.link.replay_flits!r}"
            )
        # A packet may wait for one of the other channel, and so may its acknowledgement: two packets each way.
        need = 4 * (longest + 1)
        if self.link.replay_cycles < need:
            raise ValueError(
                f"link.replay_cycles must be at least {need}, the words of four packets of mtu {self.datapath.mtu}, if "
                f"link.reliable, not {self.link.replay_cycles!r}"
            )
        if self.link.dead_cycles < self.link.replay_cycles:
            raise ValueError(
                f"link.dead_cycles must be at least link.replay_cycles ({self.link.replay_cycles}) if link.reliable, "
                f"not {self.link.dead_cycles!r}"
            )

    def changed(self, **sections: Mapping[str, Any]) -> "Config":
        """The same with other values of some fields, by section; bounds are checked as everywhere.

        Examples
        --------
        >>> from firmware_models.config import load_preset
        >>> load_preset("small").changed(nic={"n_cous": 1}, cou={"ecc": True}).cou.ecc
        True
        """
        return replace(self, **{name: replace(getattr(self, name), **fields) for name, fields in sections.items()})

    @property
    def formats(self) -> FormatSet:
        """Formats of descriptors, packets and keys. No field of a file: hardware and software must agree on them."""
        return WIRE

    @property
    def guaranteed_packets(self) -> int:
        """Packets that all peers of all jobs may have outstanding at one unit whatever the others do."""
        return self.cou.n_jobs * self.cou.n_peers * self.cou.peer_credits

    @property
    def pool_packets(self) -> int:
        """Packets that a packet buffer takes beyond these, on shared credits."""
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
