"""Inputs and results of an execution."""

from collections.abc import Collection
from dataclasses import dataclass

from firmware_models.abi.encoding import TraceKind

from .datapath import Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Inputs of one node.

    Members
    -------
    node_id : int
        NodeID.
    descriptors : bytes
        Packed descriptors of whole sequences. Those of one job are executed one after the other.
    memory : array of uint8
        Host memory; it is not changed.
    memory_base : int
        Address of its first byte.
    groups : collection of int
        MGIDs of the multicast groups that the node has joined.
    """

    node_id: int
    descriptors: bytes
    memory: Bytes
    memory_base: int = 0
    groups: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One event; `time` orders the events and means nothing else. For `index` see ``TraceKind``."""

    time: float
    node: int
    job_id: int
    pulse: int
    event: TraceKind
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Result of an execution.

    Members
    -------
    memories : list of array of uint8
        Host memory of every node afterwards.
    completions : list of list of dict
        Per node the fields of its completions, in order.
    trace : list of TraceRecord
        What happened, if it was asked for.
    packets : int
        Packets that were sent to some node: a multicast counts once for each of its receivers.
    peak_packets : list of int
        Per node the most packets that its buffer held.
    """

    memories: list[Bytes]
    completions: list[list[dict[str, int]]]
    trace: list[TraceRecord]
    packets: int
    peak_packets: list[int]
