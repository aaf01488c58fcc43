"""The driver of a node: opens its NIC and its ports, over a transport whose accesses end before they return."""

from collections.abc import Iterable

import numpy as np

from firmware_models.abi.encoding import Right

from . import nic
from .access import Steps, T, carry_out
from .error import HostError
from .event import BufferFigures, Completion, JobState, Received
from .memory import ALIGNMENT, Allocator
from .port import PortSteps, RingBases, Rings
from .transport import Transport, wait


class NodeDriver:
    """The host of one node: its memory, and its NIC.

    Parameters
    ----------
    cluster : Transport
        What the node is part of: a cluster or a board.
    node : int
        Number of the node; also its NodeID.
    rings : Rings, optional
        Sizes of rings for ports that are opened without any.
    """

    def __init__(self, cluster: Transport, node: int, *, rings: Rings | None = None):
        self.cluster, self.node, self.rings = cluster, node, rings or Rings()
        self.memory = cluster.memories[node]
        self._groups: list[int] = []
        # Address 0 stays unused, so that a forgotten address shows.
        self.allocator = Allocator(first=4096, limit=lambda: len(self.memory), owner=f"node {node}")

    def start(self) -> None:
        """Sets the NodeID and a key of nonces, which the transport draws, and lets the NIC fetch descriptors."""
        self.carry_out(nic.start(self.node, answer_key=self.cluster.answer_key(self.node)))

    def set_node_id(self, node_id: int) -> None:
        """Gives the NIC another NodeID than the number of its node."""
        self.carry_out(nic.write("node_id", node_id))

    def set_watchdog(self, cycles: int) -> None:
        """Ends operations that make no progress for so many cycles; 0 never."""
        self.carry_out(nic.write("watchdog", cycles))

    def set_retry_limit(self, cycles: int) -> None:
        """Cycles for which a descriptor may wait for room in the NIC before it ends in NO_PLACE; 0: forever."""
        self.carry_out(nic.write("retry_limit", cycles))

    def join_group(self, mgid: int) -> None:
        """Lets the NIC take multicasts to group `mgid`. Raises :class:`HostError` if it has no entry left."""
        if mgid not in self._groups:
            self.carry_out(nic.join_group(len(self._groups), mgid, owner=f"node {self.node}"))
            self._groups.append(mgid)

    def allocate(self, n_bytes: int, *, alignment: int = ALIGNMENT) -> int:
        """Address of `n_bytes` of fresh memory. Raises :class:`HostError` if there is none left."""
        return self.allocator.allocate(n_bytes, alignment=alignment)

    def store(self, address: int, data: bytes) -> None:
        """Writes `data` to memory."""
        self.memory[address:address + len(data)] = np.frombuffer(data, np.uint8)

    def load(self, address: int, n_bytes: int) -> bytes:
        """Reads memory."""
        return bytes(self.memory[address:address + n_bytes].tobytes())

    def open_port(
        self, vp: int, *, dq_log2: int | None = None, cq_log2: int | None = None, rq_log2: int | None = None
    ) -> "Port":
        """A virtual port with rings of these sizes, enabled by the memory that is registered first.

        See :meth:`Port.register_memory` and :meth:`Port.open_window`.
        """
        return Port(self, vp, Rings(
            dq_log2=self.rings.dq_log2 if dq_log2 is None else dq_log2,
            cq_log2=self.rings.cq_log2 if cq_log2 is None else cq_log2,
            rq_log2=self.rings.rq_log2 if rq_log2 is None else rq_log2,
        ))

    def close_job(self, job_id: int) -> JobState:
        """Ends what the NIC has of a job, and everything that comes for it, until it is opened again.

        It is to be closed at all its nodes, and :attr:`~JobState.at_rest` at all of them, before it is opened at any.
        """
        return self.carry_out(nic.look_at_job(job_id, close=True))

    def refuse_job(self, job_id: int) -> JobState:
        """Lets nothing of a job in until it is opened: for a JobID that nobody here uses.

        Unlike a job that is closed it gives no credit back: nobody may have any. Raises :class:`HostError` if something
        of it is at the NIC.
        """
        state = self.carry_out(nic.look_at_job(job_id, refuse=True))
        if not state.refused:
            raise HostError(f"job {job_id} must be at rest at node {self.node} to be refused, not have {state}")
        return state

    def write_off_job(self, job_id: int) -> JobState:
        """Takes what peers still hold of a closed job for lost: credits, shared credits, packets. It is at rest then.

        That is for what a link has thrown away, or a node that is gone holds: when nothing of the job has come for
        longer than a packet can be on its way. What comes later all the same is dropped and counted.
        """
        return self.carry_out(nic.look_at_job(job_id, write_off=True))

    def open_job(self, job_id: int) -> JobState:
        """Opens a job that was closed or refused. Raises :class:`HostError` if something of it is left at the NIC."""
        state = self.carry_out(nic.look_at_job(job_id, open_again=True))
        if state.closed:
            raise HostError(f"job {job_id} must be at rest at node {self.node} to be opened, not have {state}")
        return state

    def job_state(self, job_id: int) -> JobState:
        """State of a job at the NIC."""
        return self.carry_out(nic.look_at_job(job_id))

    def read_counter(self, name: str) -> int:
        """An event counter of the NIC."""
        return self.carry_out(nic.read_counter(name))

    def read_buffer(self, cou: int) -> BufferFigures:
        """Counters of the packet buffer of an offload unit since reset."""
        return self.carry_out(nic.read_buffer(cou))

    def read_states(self, cou: int) -> dict[str, int]:
        """Cycles since reset by what an offload unit did or waited for
        (:class:`~firmware_models.abi.encoding.UnitState`)."""
        return self.carry_out(nic.read_states(cou))

    def read_register(self, address: int) -> int:
        """Value of a register of the NIC."""
        return self.cluster.read_register(self.node, address)

    def write_register(self, address: int, value: int, *, not_before: int = 0) -> None:
        """Writes a register of the NIC, now or by the time that the transport has run."""
        self.cluster.write_register(self.node, address, value, not_before=not_before)

    def carry_out(self, steps: Steps[T]) -> T:
        """Does what steps of the library ask for."""
        return carry_out(steps, self)


class Region:
    """Memory of a node that its NIC may use.

    Members
    -------
    base, bytes : int
        Where it is.
    """

    def __init__(self, driver: NodeDriver, base: int, n_bytes: int):
        self.driver, self.base, self.bytes = driver, base, n_bytes

    def write(self, data: bytes, *, at: int = 0) -> int:
        """Writes `data` from byte `at` on; its address. Raises :class:`HostError` beyond the end."""
        self._check(at, len(data))
        self.driver.store(self.base + at, data)
        return self.base + at

    def read(self, n_bytes: int, *, at: int = 0) -> bytes:
        """Bytes from byte `at` on. Raises :class:`HostError` beyond the end."""
        self._check(at, n_bytes)
        return self.driver.load(self.base + at, n_bytes)

    def _check(self, at: int, n_bytes: int) -> None:
        if not 0 <= at <= at + n_bytes <= self.bytes:
            raise HostError(f"bytes of a region must be within 0 to {self.bytes}, not {at} to {at + n_bytes}")


class Port:
    """One virtual port of a node: rings in host memory and their indexes.

    Members
    -------
    vp : int
        Its number.
    driver : NodeDriver
        The node's.
    steps : PortSteps
        Its rings.
    """

    def __init__(self, driver: NodeDriver, vp: int, sizes: Rings):
        self.driver, self.vp = driver, vp
        bases = RingBases.allocate(driver.allocator, sizes)
        self.steps = PortSteps(vp, driver, sizes=sizes, bases=bases)
        # Memory of a board may hold entries of an earlier run, whose phase would look right.
        self.steps.completions.clear()
        self.steps.received.clear()
        self._n_windows = 0

    def register_memory(self, n_bytes: int, rights: Iterable[Right] = tuple(Right)) -> Region:
        """Fresh memory that the NIC may use as `rights` say; the first one enables the port.

        Raises :class:`HostError` if there is no memory or no window left.
        """
        region = Region(self.driver, self.driver.allocate(n_bytes), n_bytes)
        self.driver.store(region.base, bytes(n_bytes))
        window = region.base, region.base + n_bytes
        if self._n_windows:
            self.register_window(self._n_windows, *window, rights)
        else:
            self.driver.carry_out(self.steps.enable(*window, rights))
        self._n_windows += 1
        return region

    def open_window(self, base: int, limit: int) -> None:
        """Gives the port window 0, with all rights, and enables it; it has no other windows then.

        Raises :class:`HostError` if the NIC has no such addresses.
        """
        self.driver.carry_out(self.steps.enable(base, limit))
        self._n_windows = 1

    def register_window(self, index: int, base: int, limit: int, rights: Iterable[Right] = tuple(Right)) -> None:
        """Registers memory [base, limit) as window `index` of the port, which :meth:`open_window` has enabled.

        Raises :class:`HostError` if the NIC does not have that window, or no such addresses.
        """
        self.driver.carry_out(self.steps.register_window(index, base, limit, rights))

    def withdraw_window(self, index: int) -> None:
        """Withdraws a window: what is asked for from now on is refused. Operations that use it should have ended."""
        self.driver.carry_out(self.steps.withdraw_window(index))

    @property
    def room(self) -> int:
        """Descriptors that can be posted now."""
        return self.steps.descriptors.room

    def post(self, descriptors: bytes) -> None:
        """Puts packed descriptors into the ring, for a doorbell to follow.

        Raises :class:`HostError` if they cannot fit, or would overwrite descriptors that may not have been fetched.
        """
        self.steps.post(descriptors)

    def ring(self, *, not_before: int = 0) -> None:
        """Rings the doorbell: what has been posted may be fetched."""
        self.driver.carry_out(self.steps.ring(not_before=not_before))

    def watch_completions(self, count: int) -> list[int]:
        """Makes the cluster run until `count` more completions are there; their addresses."""
        ring = self.steps.completions
        addresses = [ring.last_word(ring.consumed + index) for index in range(count)]
        for address in addresses:
            self.driver.cluster.watch(self.driver.node, address)
        return addresses

    def wait(self, count: int = 1, *, most: int) -> list[Completion]:
        """The next `count` completions, for which at most so many cycles pass.

        Raises :class:`HostError` if they do not come. What came before stays to be polled then.
        """
        self.watch_completions(count)
        wait(self.driver.cluster, most=most)
        found = [completion for _ in range(count) if (completion := self.poll()) is not None]
        if len(found) < count:
            raise HostError(f"VP {self.vp} of node {self.driver.node} must have {count} completions within {most} "
                            f"cycles, not {len(found)}")
        return found

    @property
    def has_completion(self) -> bool:
        """True if the next completion is there, to be polled."""
        return self.steps.completions.has_next

    def poll(self) -> Completion | None:
        """The next completion, if it is there; its room is returned to the NIC."""
        entry = self.steps.take_completion()
        if entry is None:
            return None
        self.driver.carry_out(self.steps.acknowledge())
        return Completion.of(entry)

    def receive(self) -> Received | None:
        """The next mini packet, if one is there; gives its entry back to the NIC."""
        entry = self.steps.take_message()
        if entry is None:
            return None
        self.driver.carry_out(self.steps.acknowledge_messages())
        return Received.of(entry)
