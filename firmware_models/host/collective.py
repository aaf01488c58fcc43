"""Collective operations of some ports: their sequences, doorbells, completions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from firmware_models.abi.encoding import Datatype, Kind, Operator, Status
from firmware_models.config import Config
from firmware_models.schedule import Endpoint, MulticastGroup, PeerTable, Schedule, compile_schedule, pack_sequence

from .driver import Port
from .error import HostError
from .event import Completion
from .transport import wait


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where the data of one rank lie.

    Members
    -------
    local, result : int
        Addresses of its operand and its result, multiples of a flit; equal if the operation is in place.
    operand : bytes, optional
        The operand itself, if it may travel in the descriptor.
    """

    local: int
    result: int
    operand: bytes | None = None


@dataclass
class Operation:
    """An operation that has been posted at every rank.

    Members
    -------
    ports : list of Port
        By rank.
    tag : int
        In its completions.
    completions : list of Completion
        By rank, once it has ended.
    """

    ports: list[Port]
    tag: int = 0
    completions: list[Completion] = field(default_factory=list)

    @classmethod
    def post(cls, ports: Sequence[Port], sequences: Sequence[bytes], *, tag: int = 0) -> "Operation":
        """Puts the packed descriptors of each rank into the ring of its port, for :meth:`ring` to follow.

        Raises
        ------
        HostError
            If a ring has no room for them.
        """
        for port, sequence in zip(ports, sequences, strict=True):
            port.post(sequence)
        return cls(list(ports), tag)

    def ring(self, *, not_before: int | Sequence[int] = 0) -> None:
        """Rings the doorbells of all ranks, at this cycle or later; a sequence has a cycle for each rank.

        The transport runs until their completions are there, from now on.
        """
        cycles = [not_before] * len(self.ports) if isinstance(not_before, int) else not_before
        for port in self.ports:
            port.watch_completions(1)
        for port, cycle in zip(self.ports, cycles, strict=True):
            port.ring(not_before=cycle)

    @property
    def late(self) -> list[Port]:
        """Ports at which it has not ended; they have nothing else under way."""
        return [port for port in self.ports if not port.has_completion]

    def poll(self) -> list[Completion | None]:
        """The next completion of each rank, None where there is none yet."""
        return [port.poll() for port in self.ports]

    def wait(self, *, most: int) -> list[Completion]:
        """Lets at most so many cycles pass until it has ended everywhere; its completions, which also stay here.

        It has been rung, and the ports have nothing else under way.

        Raises
        ------
        HostError
            If it does not end, or not well.
        """
        wait(self.ports[0].driver.cluster, most=most)
        for rank, completion in enumerate(self.poll()):
            if completion is None:
                raise HostError(f"rank {rank}: operation {self.tag} has not ended within {most} cycles")
            if completion.status is not Status.OK or completion.tag != self.tag:
                raise HostError(
                    f"rank {rank}: operation {completion.tag} ended in {completion.status.name}, "
                    f"detail {completion.detail:#x}"
                )
            self.completions.append(completion)
        return self.completions


class Job:
    """One job: ports of several nodes that carry out collectives together, one after the other. Rank r is `ports[r]`.

    Parameters
    ----------
    ports : sequence of Port
        By rank, one a node.
    job_id : int
        JobID, which no other job of these nodes has.
    config : Config
        The hardware.
    groups : sequence of MulticastGroup
        Groups that the nodes have joined, for schedules that use multicast.
    peers : PeerTable, optional
        Peers of the job's earlier operations, if other ports carried them out.
    """

    def __init__(
        self, ports: Sequence[Port], *, job_id: int, config: Config, groups: Sequence[MulticastGroup] = (),
        peers: PeerTable | None = None,
    ):
        self.ports, self.job_id, self.config, self.groups = list(ports), job_id, config, groups
        self._peers = PeerTable(config.cou.n_peers) if peers is None else peers

    def compile(
        self, schedule: Schedule, data: Sequence[Data], *, length: int, datatype: Datatype = Datatype.FLOAT64,
        operator: Operator = Operator.SUM, tag: int = 0, pulse_bytes: int | None = None, kind: Kind | None = None,
    ) -> list[bytes]:
        """Packed descriptors of each rank for one operation; parameters as for :func:`compile_schedule`.

        Operations must be posted in the order in which they are compiled.

        Raises
        ------
        ScheduleError
            If the operation does not fit the hardware.
        """
        sequences = compile_schedule(
            schedule, endpoints=self._endpoints(data), job_id=self.job_id, config=self.config, length=length,
            datatype=datatype, operator=operator, pulse_bytes=pulse_bytes, tag=tag, kind=kind, peers=self._peers,
            groups=self.groups,
        )
        return [pack_sequence(sequence) for sequence in sequences]

    def post(
        self, schedule: Schedule, data: Sequence[Data], *, length: int, datatype: Datatype = Datatype.FLOAT64,
        operator: Operator = Operator.SUM, tag: int = 0, pulse_bytes: int | None = None, kind: Kind | None = None,
    ) -> Operation:
        """Posts an operation at every rank, for its doorbells to follow; parameters as for :meth:`compile`.

        Raises
        ------
        ScheduleError
            If it does not fit the hardware.
        HostError
            If a ring has no room for it.
        """
        sequences = self.compile(
            schedule, data, length=length, datatype=datatype, operator=operator, tag=tag, pulse_bytes=pulse_bytes,
            kind=kind,
        )
        return Operation.post(self.ports, sequences, tag=tag)

    def _endpoints(self, data: Sequence[Data]) -> list[Endpoint]:
        return [
            Endpoint(node_id=port.driver.node, vp=port.vp, local_addr=each.local, result_addr=each.result,
                  operand=each.operand)
            for port, each in zip(self.ports, data, strict=True)
        ]
