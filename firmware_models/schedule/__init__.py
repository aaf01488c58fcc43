"""Schedules: from (collective, algorithm, nodes, root) to one descriptor sequence per node."""

from .check import CheckReport, check
from .compile import compile_schedule, largest_pulse, pack_sequence, pack_sequences
from .endpoint import Endpoint
from .error import ScheduleError
from .group import MulticastGroup, group_of
from .peer import PeerTable
from .registry import algorithm_names, build, collective_names, default_algorithm
from .sequence import Combine, Schedule, Source, Step
from .terms import Terms

__all__ = [
    "CheckReport",
    "Combine",
    "Endpoint",
    "MulticastGroup",
    "PeerTable",
    "Schedule",
    "ScheduleError",
    "Source",
    "Step",
    "Terms",
    "algorithm_names",
    "build",
    "check",
    "collective_names",
    "compile_schedule",
    "default_algorithm",
    "group_of",
    "largest_pulse",
    "pack_sequence",
    "pack_sequences",
]
