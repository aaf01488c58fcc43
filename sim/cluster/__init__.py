"""Clusters of Verilated NICs and switches in one process."""

from .build import ClusterBuildError, build_library
from .cluster import (
    EVENT,
    Cluster,
    EventKind,
    Execution,
    LinkTiming,
    MemoryTiming,
    RegisterAccessError,
    SimulationFaultError,
    Waves,
)
from .faults import AxiResponse, MemoryFaults, WireFault, WireRates

__all__ = [
    "EVENT", "AxiResponse", "Cluster", "ClusterBuildError", "EventKind", "Execution", "LinkTiming", "MemoryFaults",
    "MemoryTiming", "RegisterAccessError", "SimulationFaultError", "Waves", "WireFault", "WireRates", "build_library",
]
