"""The host library: memory, rings, doorbells and completions of a NIC. There is no other in the tree.

:class:`NodeDriver`, :class:`Port` and :class:`Job` are for users; they stand on a :class:`Transport`, a simulated
cluster or a board. Coroutines of benches use the same logic as steps: :class:`PortSteps` and
:mod:`firmware_models.host.nic`.
"""

from pathlib import Path

from .access import carry_out, carry_out_async
from .collective import Data, Job, Operation
from .driver import NodeDriver, Port, Region
from .error import HostError
from .event import BufferFigures, Completion, JobState, Received
from .memory import Allocator, Memory
from .port import PortSteps, RingBases, Rings
from .transport import Transport, wait

DRIVER_FILES = tuple(Path(__file__).parent / "c" / name for name in ("conic_driver.h", "conic_driver.c"))
"""The driver in C for bare metal; stands on the generated conic_abi.h."""

__all__ = [
    "DRIVER_FILES",
    "Allocator", "BufferFigures", "Completion", "Data", "HostError", "Job", "JobState", "Memory", "NodeDriver",
    "Operation", "Port", "PortSteps", "Received", "Region", "RingBases", "Rings", "Transport", "carry_out",
    "carry_out_async", "wait",
]
