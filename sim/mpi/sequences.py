"""Packed descriptors of operations, kept for those that come again."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from firmware_models.abi.encoding import Operand
from firmware_models.abi.formats import DESCRIPTOR, PAYLOAD_BYTES
from firmware_models.config import Config
from firmware_models.host import Data, Job
from firmware_models.schedule import MulticastGroup
from sim.mpi.running import Bytes, Running

_DESCRIPTOR_BYTES = DESCRIPTOR.bytes
_PAYLOAD_AT = _DESCRIPTOR_BYTES - PAYLOAD_BYTES
_MOST_KEPT = 4096


@dataclass(frozen=True)
class Sequences:
    """Packed descriptors of each rank, and which of them carry the operand."""

    packed: list[bytearray]
    carriers: list[list[int]]

    def carries(self, rank: int, message: Bytes) -> bool:
        """Puts the operand of a rank into the descriptors that carry it; False if none does."""
        for carrier in self.carriers[rank]:
            at = carrier * _DESCRIPTOR_BYTES + _PAYLOAD_AT
            self.packed[rank][at:at + len(message)] = message.tobytes()
        return bool(self.carriers[rank])


@dataclass
class SequenceCache:
    """Compiles schedules for NICs of `config`, each once; `groups` are the multicast groups that there are."""

    config: Config
    groups: tuple[MulticastGroup, ...] = ()
    _kept: dict[tuple[Any, ...], Sequences] = field(default_factory=dict)

    def find(self, running: Running) -> Sequences:
        """The descriptors of the piece of an operation.

        Raises
        ------
        ScheduleError
            If the NICs cannot carry it out.
        """
        operation, schedule, job = running.operation, running.schedule, running.job
        key = (
            job.job_id, running.nodes, schedule.collective, schedule.algorithm, schedule.root, running.length,
            operation.datatype, operation.operator,
        )
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            found = self._kept[key] = self._compiled(running)
        return found

    def _compiled(self, running: Running) -> Sequences:
        operation, lane, length = running.operation, running.lane, running.length
        operand = bytes(length) if length <= PAYLOAD_BYTES else None
        job = Job(
            running.ports, job_id=running.job.job_id, config=self.config, groups=self.groups, peers=running.job.peers,
        )
        packed = job.compile(
            running.schedule, [
                Data(local=lane.operands[node], result=lane.results[node], operand=operand) for node in running.nodes
            ], length=length, datatype=operation.datatype, operator=operation.operator,
        )
        return Sequences([bytearray(each) for each in packed], [list(_carriers(each)) for each in packed])


def _carriers(packed: bytes) -> Iterator[int]:
    """Numbers of the descriptors that carry the operand."""
    for number in range(len(packed) // _DESCRIPTOR_BYTES):
        fields = DESCRIPTOR.unpack(packed[number * _DESCRIPTOR_BYTES:(number + 1) * _DESCRIPTOR_BYTES])
        if fields["operand"] == Operand.PAYLOAD:
            yield number
