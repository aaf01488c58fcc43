"""Clusters of Verilated NICs and switches in one process."""

from .build import ClusterBuildError, build_library
from .cluster import EVENT, Cluster, EventKind, RegisterAccessError, SimulationFaultError
from .faults import AxiResponse, MemoryFaults, WireFault, WireRates
from .settings import Execution, LinkTiming, MemoryTiming, Waves

__all__ = [
    "EVENT", "AxiResponse", "Cluster", "ClusterBuildError", "EventKind", "Execution", "LinkTiming", "MemoryFaults",
    "MemoryTiming", "RegisterAccessError", "SimulationFaultError", "Waves", "WireFault", "WireRates", "build_library",
]
