"""One process of one host: its own time, what it takes from its rings, what it writes to its NIC."""

import heapq
import math
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Protocol

from firmware_models.abi.encoding import Status
from firmware_models.host import Completion, Port, Received
from firmware_models.host.access import Steps, Write
from firmware_models.host.ring import EventRing
from sim.host import Host, Interruptions

Body = Generator[None, None, None]
"""Work of a process; it yields when it has to wait."""


class ProcessError(RuntimeError):
    """Something did not end well at a process; the message says what, and where."""


class Network(Protocol):
    """Executor of a process's accesses to its NIC."""

    def write_register(self, node: int, address: int, value: int, at: float) -> None:
        """Writes a register of the NIC of `node` at cycle `at`, which has not begun yet."""


@dataclass
class Node:
    """Resources that the processes of a host share: its cores and its memory, each with the cycle from which on it is
    free.

    Cores are taken away from them when their interruptions say so.
    """

    number: int
    host: Host
    cores: list[float] = field(init=False)
    interruptions: list[Interruptions] = field(init=False)
    memory: float = 0.0

    def __post_init__(self) -> None:
        cores = range(self.host.cpu.cores)
        self.cores = [0.0 for _ in cores]
        self.interruptions = [Interruptions(self.host, node=self.number, core=core) for core in cores]


@dataclass(frozen=True, order=True)
class Arrival:
    """An entry that a process can see from a cycle on; in which ring: of completions, or of messages."""

    visible: float
    number: int
    is_message: bool


class Process:
    """A process, its port, and its time in cycles of the network.

    Parameters
    ----------
    node : Node
        Where it runs.
    number : int
        Its job; it runs on this core, modulo their number.
    port : Port
        Its virtual port.
    network : Network
        Carries out its doorbells.
    start : float
        When it begins.

    Members
    -------
    time : float
        How far it is.
    inbox : list of Arrival
        A heap of what has come, or is known to come.
    is_started : bool
        It has done something.
    wake : float
        When it goes on whatever comes; infinity: never.
    busy : float
        Cycles for which it has worked.
    """

    def __init__(self, node: Node, number: int, port: Port, network: Network, *, start: float):
        self.node, self.host, self.port, self.network = node, node.host, port, network
        self.number = number
        self.time = start
        self.inbox: list[Arrival] = []
        self.is_started = False
        self.wake = math.inf
        self.busy = 0.0
        self.horizon = 0.0
        """It may look at its rings before this cycle only: what becomes visible later may not be known yet."""
        self._core = number % len(node.cores)
        self._unacknowledged = {False: 0, True: 0}

    @property
    def name(self) -> str:
        """For messages."""
        return f"node {self.node.number}, job {self.number}"

    # Time.

    def work(self, nanoseconds: float) -> None:
        """Works for a while, when its core is free."""
        self._occupy(self.host.cycles(nanoseconds))

    def move(self, passes: int, n_bytes: int, *, nanoseconds: float = 0.0) -> None:
        """Reads or writes `n_bytes` of memory so many times over; computes beside it for `nanoseconds`."""
        memory, moved = self.host.memory, passes * n_bytes
        begin = max(self.time, self.node.cores[self._core])
        # Bytes over GB/s are nanoseconds.
        self.node.memory = max(self.node.memory, begin) + self.host.cycles(moved / memory.gbytes)
        alone = self.host.cycles(max(nanoseconds, moved / memory.core_gbytes))
        self._occupy(max(alone, self.node.memory - begin))

    def count_dma(self, n_bytes: int) -> None:
        """The NIC has read or written `n_bytes` of a message: before now, as far as memory was free then.

        NICs do not wait for a memory that cores keep busy; cores wait for what NICs have moved.
        """
        memory = self.host.memory
        cycles = self.host.cycles(memory.dma_passes * n_bytes / memory.gbytes)
        self.node.memory = max(self.node.memory, self.time - cycles) + cycles

    def _occupy(self, cycles: float) -> None:
        begin = max(self.time, self.node.cores[self._core])
        self.time = self.node.cores[self._core] = self.node.interruptions[self._core].end_of(begin, cycles)
        self.busy += cycles

    # Requests to the NIC.

    def post(self, descriptors: bytes, count: int) -> None:
        """Writes descriptors into its ring, and rings."""
        self.port.post(descriptors)
        self.ring(count)

    def ring(self, count: int) -> None:
        """Takes the time to write `count` descriptors, which stand in the ring already, and rings."""
        self.work(count * self.host.cpu.post_ns + self.host.cpu.doorbell_ns)
        self._write(self.port.steps.ring())

    def _write(self, steps: Steps[None]) -> None:
        for step in steps:
            assert isinstance(step, Write)
            self.network.write_register(
                self.node.number, step.address, step.value, self.time + self.host.way_cycles()
            )

    # Arrivals from the NIC.

    def arrive(self, arrival: Arrival) -> None:
        """Something will be visible."""
        heapq.heappush(self.inbox, arrival)

    def due(self) -> float | None:
        """When it has something to do, as far as is known; None: not before something comes."""
        if not self.is_started:
            return self.time
        first = min(self.wake, self.inbox[0].visible if self.inbox else math.inf)
        return first if first < math.inf else None

    def wait_until(self, cycle: float) -> Generator[None, None, bool]:
        """Waits for an entry of either ring, or until a cycle; whether an entry is there."""
        while True:
            visible = self.inbox[0].visible if self.inbox else math.inf
            first = max(self.time, min(visible, cycle))
            if first < self.horizon:
                break
            self.wake = max(self.time, cycle)
            yield
        self.wake = math.inf
        if visible <= max(self.time, cycle):
            return True
        self.time = max(self.time, cycle)
        return False

    def next_entry(self) -> Generator[None, None, Completion | Received]:
        """The next entry of either ring, once it has come and the process has looked."""
        yield from self.wait_until(math.inf)
        arrival = heapq.heappop(self.inbox)
        poll = self.host.cycles(self.host.cpu.poll_ns)
        if arrival.visible > self.time:
            self.time += math.ceil((arrival.visible - self.time) / poll) * poll
        self.work(self.host.cpu.take_ns)
        return self._take(is_message=arrival.is_message)

    def _take(self, *, is_message: bool) -> Completion | Received:
        steps = self.port.steps
        entry = steps.take_message() if is_message else steps.take_completion()
        if entry is None:
            raise ProcessError(f"{self.name}: an entry was written without its phase")
        self._acknowledge(steps.received if is_message else steps.completions, is_message=is_message)
        if is_message:
            return Received.of(entry)
        completion = Completion.of(entry)
        if completion.status is not Status.OK:
            raise ProcessError(f"{self.name}: {completion.status.name}, detail {completion.detail:#x}")
        return completion

    def _acknowledge(self, ring: EventRing, *, is_message: bool) -> None:
        """Gives entries back to the NIC a quarter of a ring at a time, as drivers do."""
        self._unacknowledged[is_message] += 1
        if self._unacknowledged[is_message] * 4 < ring.size:
            return
        self._unacknowledged[is_message] = 0
        steps = self.port.steps
        self.work(self.host.cpu.doorbell_ns)
        self._write(steps.acknowledge_messages() if is_message else steps.acknowledge())
