"""A session on NICs, from their start to the comparison: what collectives, runs on boards and soaks share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_models.abi import registers
from firmware_models.abi.formats import JOB_BITS
from firmware_models.config import Config
from firmware_models.golden import mismatched_bits, reference
from firmware_models.host import Completion, Data, Job, NodeDriver, Operation, Port, Rings, Transport, wait
from firmware_models.schedule import MulticastGroup
from sim.operation.diagnosis import diagnose
from sim.operation.request import CollectiveRequest

_WARM_UP_CYCLES = 1_000
_CONFIGURATION_CYCLES = 1_000_000


class CollectiveError(RuntimeError):
    """NICs do not take their configuration, or an operation does not end well; the message says which."""


@dataclass(frozen=True)
class Posted:
    """One job whose descriptors have been posted: its data, and where they lie at each node."""

    inputs: NDArray[Any]
    operation: Operation
    result_addresses: list[int]
    requests: list[CollectiveRequest]
    """Request that each rank has posted."""

    @property
    def ports(self) -> list[Port]:
        """Port of each rank."""
        return self.operation.ports


def warm_up_cycles(config: Config) -> int:
    """Cycles after reset for which units clear their memories, and some more."""
    return _WARM_UP_CYCLES + (config.cou.n_peers << JOB_BITS)


class Session:
    """NICs of a transport, started. Configure, warm up, post, ring, wait, compare: in this order.

    Parameters
    ----------
    transport : Transport
        A cluster or a board.
    config : Config
        What its NICs were built from.
    nodes : int
        The first so many of its nodes take part.
    rings : Rings, optional
        Sizes of the rings of ports.
    """

    def __init__(self, transport: Transport, config: Config, *, nodes: int, rings: Rings | None = None):
        self.transport, self.config = transport, config
        self.drivers = [NodeDriver(transport, node, rings=rings) for node in range(nodes)]
        for driver in self.drivers:
            driver.start()

    def post(
        self, request: CollectiveRequest, job: int, *, groups: Sequence[MulticastGroup] = (),
        ahead: Callable[[int, Port], None] = lambda _node, _port: None,
        others: Mapping[int, CollectiveRequest] | None = None,
    ) -> Posted:
        """Opens a port for `job` of `request` at every node, and posts its descriptors.

        `ahead` is called with each node and its port, and may post something that stands before them in the ring.
        `others` has ranks that do not do what they should: they post their part of these requests.

        Raises
        ------
        ScheduleError
            If they do not fit the hardware.
        """
        inputs = request.data(job)
        requests = [(others or {}).get(rank, request) for rank in range(len(self.drivers))]
        ports, data = [], []
        for rank, driver in enumerate(self.drivers):
            ports.append(driver.open_port(job))
            own = requests[rank]
            operand = (inputs if own is request else own.data(job))[rank].tobytes()
            local, result = driver.allocate(own.size), driver.allocate(own.size)
            driver.store(local, operand)
            ports[-1].open_window(local, result + max(own.size, 64))
            ahead(rank, ports[-1])
            data.append(Data(local=local, result=result, operand=operand))
        operation = Operation.post(ports, self._compile(requests, job, ports, data, groups), tag=job)
        return Posted(inputs, operation, [each.result for each in data], requests)

    def _compile(
        self, requests: list[CollectiveRequest], job: int, ports: list[Port], data: list[Data],
        groups: Sequence[MulticastGroup],
    ) -> list[bytes]:
        """Packed descriptors of each port."""
        compiling = Job(ports, job_id=job, config=self.config, groups=groups)
        sequences: dict[int, list[bytes]] = {}
        for request in requests:
            if id(request) not in sequences:
                fitting = [
                    each if own is request else replace(each, operand=bytes(request.size))
                    for own, each in zip(requests, data, strict=True)
                ]
                sequences[id(request)] = compiling.compile(
                    request.schedule, fitting, length=request.size, datatype=request.datatype,
                    operator=request.operator, tag=job, pulse_bytes=request.pulse_bytes,
                )
        return [sequences[id(request)][rank] for rank, request in enumerate(requests)]

    def configure(self) -> None:
        """Waits until the NICs have taken their configuration. Raises :class:`CollectiveError` if they do not."""
        if not self.transport.run(_CONFIGURATION_CYCLES):
            raise CollectiveError("the NICs did not take their configuration")

    def warm_up(self) -> None:
        """Units clear their memories after reset; an operation is measured on a NIC that has been up for a while."""
        self.transport.run_for(warm_up_cycles(self.config))

    def ring(self, posted: Sequence[Posted], *, not_before: Callable[[], int] = lambda: 0) -> None:
        """Rings every port's doorbell, each at the cycle that `not_before` says or later, for :meth:`wait`."""
        for job in posted:
            job.operation.ring(not_before=[not_before() for _ in job.ports])

    def wait(self, most: int) -> bool:
        """Lets time pass until all that is watched has ended, at most so many cycles; says whether it has."""
        return wait(self.transport, most=most)

    def completions(self, posted: Sequence[Posted]) -> Iterator[Completion]:
        """The completion of every job at every node.

        Raises
        ------
        CollectiveError
            Unless all are OK: what is wrong with the first job of which they are not, a line each.
        """
        for number, job in enumerate(posted):
            completions = dict(enumerate(job.operation.poll()))
            if wrong := diagnose(job.requests, completions):
                raise CollectiveError("\n".join(f"job {number}: {line}" for line in wrong))
            yield from (completion for completion in completions.values() if completion is not None)

    def compare(self, request: CollectiveRequest, posted: Sequence[Posted]) -> tuple[list[NDArray[Any]], int]:
        """Returns the results of every job in the host memories, and the bits in which they differ from the golden
        model."""
        outputs, mismatched = [], 0
        for job in posted:
            golden = reference(
                request.collective, request.algorithm, job.inputs, root=request.root, datatype=request.datatype,
                operator=request.operator,
            )
            got = np.zeros_like(job.inputs)
            for rank in range(request.nodes):
                if golden.receives[rank]:
                    node = rank % len(self.drivers)
                    result = self.drivers[node].load(job.result_addresses[node], request.size)
                    got[rank] = np.frombuffer(result, job.inputs.dtype)
            outputs.append(got)
            mismatched += mismatched_bits(got, golden.results)
        return outputs, mismatched

    def hang(self, what: str, posted: Sequence[Posted]) -> str:
        """Describes the state when `what` does not end: nodes without a completion, and the counters of every NIC."""
        missing = [
            f"node {port.driver.node} job {number}" for number, job in enumerate(posted) for port in job.operation.late
        ]
        first = f"{what} did not end by cycle {self.transport.cycle}; no completion at {', '.join(missing)}"
        return "\n".join([first, *self.counters()])

    def counters(self) -> Iterator[str]:
        """A line for every NIC: what it has counted."""
        for driver in self.drivers:
            counts = ", ".join(
                f"{counter.name} {driver.read_counter(counter.name)}" for counter in registers.EVENT_COUNTERS
            )
            yield f"node {driver.node}: {counts}"
