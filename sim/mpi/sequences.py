"""Packed descriptors of operations, kept for those that come again."""

from dataclasses import dataclass, field
from typing import Any

from firmware_models.abi.encoding import Operand
from firmware_models.abi.formats import DESCRIPTOR, PAYLOAD_BYTES
from firmware_models.config import Config
from firmware_models.schedule import Endpoint, MulticastGroup, compile_schedule, pack_sequence
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
        operation, lane, job, length = running.operation, running.lane, running.job, running.length
        operand = bytes(length) if length <= PAYLOAD_BYTES else None
        descriptors = compile_schedule(
            running.schedule, job_id=job.job_id, config=self.config, length=length, datatype=operation.datatype,
            operator=operation.operator, peers=job.peers, groups=self.groups,
            endpoints=[
                Endpoint(node_id=node, vp=job.vp, local_addr=lane.operands[node], result_addr=lane.results[node],
                         operand=operand)
                for node in running.nodes
            ],
        )
        return Sequences(
            packed=[bytearray(pack_sequence(sequence)) for sequence in descriptors],
            carriers=[
                [index for index, fields in enumerate(sequence) if fields["operand"] == Operand.PAYLOAD]
                for sequence in descriptors
            ],
        )
