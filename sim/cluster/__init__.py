"""Clusters of NICs and switches in one process."""

from sim.environment.engine import Engine, EngineError

from .build import ClusterBuildError, build_library
from .cluster import EVENT, Cluster, EventKind, RegisterAccessError, SimulationFaultError
from .faults import AxiResponse, MemoryFaults, WireFault, WireRates
from .registers import UnknownRegisterError
from .settings import Execution, LinkTiming, MemoryTiming, Waves
from .side_by_side import runs_of_a_word, side_by_side

__all__ = [
    "EVENT", "AxiResponse", "Cluster", "ClusterBuildError", "Engine", "EngineError", "EventKind", "Execution",
    "LinkTiming", "MemoryFaults", "MemoryTiming", "RegisterAccessError", "SimulationFaultError",
    "UnknownRegisterError", "Waves", "WireFault", "WireRates", "build_library",
    "runs_of_a_word", "side_by_side",
]
