"""Estimates the time of a collective if hosts carried it out: a model, not a measurement.

The schedule is that of the NICs; every step of it is a host's: it finds a message in its memory, combines it, posts the
next one. The NIC's part, from doorbell to the receiver's memory, is measured on the RTL before the program begins. The
host's part is assumed: see :class:`Host`. Each message is taken whole before the next step; real hosts may cut long
ones into segments.

From the first doorbell to the last entry in host memory, as the NICs' cycles are: what a host does before the one and
after the other is the same both ways and is left out of both.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from firmware_models.abi.formats import PAYLOAD_BYTES
from firmware_models.schedule import Combine, Schedule, Step
from sim.host import Host as Parameters
from sim.host.model import ELEMENT_BYTES
from sim.mpi.message import Wire


@dataclass(frozen=True, kw_only=True)
class Host:
    """A host, in seconds: what a message takes of it, made of the parameters of a host (`sim.host`).

    Members
    -------
    post : float
        Processor time until a message is described and its doorbell rung.
    take : float
        Processor time from an entry in memory until the program has noticed it.
    bus : float
        One way between NIC and memory or processor. Descriptor and payload are fetched: two ways more.
    combine : float
        Combining a byte with another.
    """

    post: float
    take: float
    bus: float
    combine: float

    @classmethod
    def of(cls, host: Parameters) -> "Host":
        """A host of these parameters, whose library sends each message as one descriptor.

        It finds an entry half of a polling interval after it could be seen.
        """
        cpu, memory = host.cpu, host.memory
        return cls(
            post=1e-9 * (host.mpi.match_ns + cpu.post_ns + cpu.doorbell_ns),
            take=1e-9 * (cpu.poll_ns / 2 + cpu.take_ns + host.mpi.match_ns), bus=1e-9 * host.pcie.one_way_ns,
            combine=1e-9 * max(cpu.reduce_ns / ELEMENT_BYTES, 3 / memory.core_gbytes),
        )


@dataclass(frozen=True)
class HostModel:
    """Hosts with NICs of `frequency` cycles a second."""

    host: Host
    wire: Wire
    frequency: float

    def cycles(self, schedule: Schedule, sizes: Sequence[int]) -> int:
        """Cycles until the last rank has its result; `sizes` are bytes of the blocks of the message."""
        host, second = self.host, 1 / self.frequency
        now, free = [0.0] * schedule.n_nodes, [0.0] * schedule.n_nodes
        over = [0.0] * schedule.n_nodes  # without what a host does after its last entry
        arrivals: dict[tuple[int, int | None], float] = {}
        numbers = [iter(schedule.numbers(rank)) for rank in range(schedule.n_nodes)]
        todo = {rank: iter(_events(sequence)) for rank, sequence in enumerate(schedule.sequences)}
        waiting: dict[int, tuple[tuple[int, int | None], Step]] = {}
        while todo:
            for rank in list(todo):
                while True:
                    if rank in waiting:
                        key, step = waiting[rank]
                        if key not in arrivals:
                            break
                        del waiting[rank]
                        begin = max(now[rank], arrivals[key])
                        work = host.combine * _bytes(step, sizes) if step.combine is Combine.REDUCE else 0.0
                        now[rank], over[rank] = begin + host.take + work, begin - host.bus + work
                    event = next(todo[rank], None)
                    if event is None:
                        del todo[rank]
                        break
                    step, receives = event
                    if receives:
                        waiting[rank] = (rank, next(numbers[rank])), step
                        continue
                    for target in step.targets:
                        started = now[rank] > 0
                        now[rank] += host.post if started else 0.0
                        size = _bytes(step, sizes)
                        leaves = max(now[rank] + (3 * host.bus if started else 0.0), free[rank])
                        free[rank] = leaves + self.wire.per_byte * size * second
                        arrivals[target, step.send_index] = leaves + self.wire.cycles(size) * second + host.bus
                        over[rank] = max(over[rank], free[rank])
        return round(max(over) * self.frequency)

    def as_dict(self) -> dict[str, Any]:
        """Inputs of the model, for the report."""
        return {
            **{f"{name}_seconds": value for name, value in asdict(self.host).items()},
            "message_bytes": [PAYLOAD_BYTES, *self.wire.sizes], "message_cycles": [self.wire.short, *self.wire.puts],
            "frequency": self.frequency,
        }


def _events(sequence: Sequence[Step]) -> list[tuple[Step, bool]]:
    """A step's receptions, one by one, and then what it sends."""
    return [
        (step, receives) for step in sequence for receives in [*[True] * len(step.receive_from), False]
    ]


def _bytes(step: Step, sizes: Sequence[int]) -> int:
    first, count = step.blocks
    return sum(sizes[first:first + count]) if count else sum(sizes)
