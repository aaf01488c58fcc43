"""Clusters of Verilated NICs and switches in one process."""

from .build import ClusterBuildError, build_library
from .cluster import EVENT, Cluster, EventKind, LinkTiming, MemoryTiming

__all__ = ["EVENT", "Cluster", "ClusterBuildError", "EventKind", "LinkTiming", "MemoryTiming", "build_library"]
