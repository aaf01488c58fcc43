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
)

__all__ = [
    "EVENT", "Cluster", "ClusterBuildError", "EventKind", "Execution", "LinkTiming", "MemoryTiming",
    "RegisterAccessError", "SimulationFaultError", "build_library",
]
