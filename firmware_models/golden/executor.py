"""Executes packed descriptors of a whole cluster, without hardware and under any arrival order.

It knows what descriptors mean, and nothing of schedules: what the offload units of all nodes do together must follow
from the bytes in their rings.
"""

import heapq
import random
from collections import Counter, deque
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from firmware_models.abi.encoding import CplKind, Status, TraceKind
from firmware_models.abi.formats import PULSE_BITS, SEQ_BITS

from .datapath import Key, NodeMemory, Packet, absorb, key_name, take_operand
from .execution import Execution, Node, TraceRecord
from .fault import DeadlockError, DuplicateKeyError, ExecutionError, LeftoverError
from .operation import Context, Operation, decode

_WAITS_SHOWN = 8
_MAX_WINDOW_SLOTS = 4
"""Multicasts of one group that a job has on their way at once, however many credits a peer has."""


def execute(
    nodes: Sequence[Node], *, seed: int, peer_credits: int = 1, n_contexts: int = 8, ordered: bool = True,
    trace: bool = False,
) -> Execution:
    """Executes all sequences of all nodes.

    Parameters
    ----------
    nodes : sequence of Node
        The cluster.
    seed : int
        Chooses the order of everything that hardware leaves open: when nodes begin, how long packets and credits
        travel, which pulse goes on next. Delays are heavy-tailed, and some nodes much slower than others.
    peer_credits : int
        Packets that a sender may have at each peer of a job. As in the hardware, the last one is for the oldest pulse.
    n_contexts : int
        Pulses of one job in progress at once at a node.
    ordered : bool
        False plants a fault, as a negative control for tests: packets of a pulse are consumed as they come,
        whatever their SeqID.
    trace : bool
        Record events.

    Raises
    ------
    ExecutionError
        If descriptors mean nothing, an address is outside of the memory, or lengths differ.
    DeadlockError, DuplicateKeyError, LeftoverError
        If the sequences do not fit each other.
    """
    for name, value in (("peer_credits", peer_credits), ("n_contexts", n_contexts)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, not {value!r}")
    executor = Executor(nodes, random.Random(seed), peer_credits, n_contexts, ordered, trace)
    return executor.run()


class Executor:
    """State of one execution. Events wait in a heap; an event is a context to be looked at, a packet, or a credit."""

    def __init__(
        self, nodes: Sequence[Node], rng: random.Random, peer_credits: int, n_contexts: int, ordered: bool, trace: bool
    ):
        self.nodes = nodes
        self.numbers = {node.node_id: number for number, node in enumerate(nodes)}
        if len(self.numbers) != len(nodes):
            raise ExecutionError("node_id must be used once, not by several nodes")
        self.rng, self.peer_credits, self.n_contexts = rng, peer_credits, n_contexts
        self.ordered, self.tracing = ordered, trace
        self.memories = [
            NodeMemory(number, node.memory_base, np.array(node.memory, np.uint8)) for number, node in enumerate(nodes)
        ]
        self.jobs = [decode(number, node.descriptors) for number, node in enumerate(nodes)]
        self.buffers: list[dict[Key, deque[Packet]]] = [{} for _ in nodes]
        self.waiting: list[dict[Key, Context]] = [{} for _ in nodes]
        self.out: list[Counter[tuple[int, int]]] = [Counter() for _ in nodes]
        self.levels, self.peaks = [0] * len(nodes), [0] * len(nodes)
        self.live: set[tuple[int, Key]] = set()
        self.completions: list[list[dict[str, int]]] = [[] for _ in nodes]
        self.trace: list[TraceRecord] = []
        self.slowness = [10 ** rng.uniform(0, 2) for _ in nodes]
        self.events: list[tuple[float, int, Any]] = []
        self.time, self.n_events, self.n_packets = 0.0, 0, 0

    def run(self) -> Execution:
        """Runs until nothing is left to do, and looks whether all is done."""
        for number, jobs in enumerate(self.jobs):
            for queue in jobs.values():
                self._later(queue[0], number)
        while self.events:
            self.time, _, item = heapq.heappop(self.events)
            if isinstance(item, Context):
                self._advance(item)
            elif isinstance(item, Packet):
                self._arrive(item)
            elif isinstance(item, Operation):
                self._begin(item)
            else:
                self._return_credit(*item)
        waits = [wait for jobs in self.jobs for queue in jobs.values() for wait in self._waits(queue)]
        if waits:
            more = f"; and {len(waits) - _WAITS_SHOWN} more" if len(waits) > _WAITS_SHOWN else ""
            raise DeadlockError("; ".join(waits[:_WAITS_SHOWN]) + more)
        rest = [packet for buffer in self.buffers for queue in buffer.values() for packet in queue]
        if rest:
            shown = "; ".join(
                f"packet {key_name(packet.key)} at node {packet.dest} from node {packet.source}"
                for packet in rest[:_WAITS_SHOWN]
            )
            raise LeftoverError(f"nobody consumed {len(rest)} packets: {shown}")
        return Execution(
            memories=[memory.data for memory in self.memories], completions=self.completions, trace=self.trace,
            packets=self.n_packets,
            peak_packets=self.peaks,
        )

    def _later(self, item: Any, node: int) -> None:
        """Queues an event; 1 / x has a heavy tail, so that now and then something comes very late."""
        self.n_events += 1
        delay = self.slowness[node] / (self.rng.random() + 1e-3)
        heapq.heappush(self.events, (self.time + delay, self.n_events, item))

    def _record(self, operation: Operation, pulse: int, event: TraceKind, index: int) -> None:
        if self.tracing:
            self.trace.append(TraceRecord(self.time, operation.node, operation.job_id, pulse, event, index))

    # Operations and pulses.

    def _begin(self, operation: Operation) -> None:
        self._record(operation, operation.base_pulse, TraceKind.OPERATION_START, len(operation.descriptors))
        self._start_pulses(operation)

    def _start_pulses(self, operation: Operation) -> None:
        head = operation.head
        while operation.started < operation.n_pulses and len(operation.active) < self.n_contexts:
            offset = operation.started * head.pulse_bytes
            starts = np.minimum(np.arange(operation.block_count + 1) * operation.block_bytes, head.length)
            sizes = np.clip(np.diff(starts) - offset, 0, head.pulse_bytes)
            cuts = [0, *np.cumsum(sizes).tolist()]
            context = Context(
                operation, (operation.base_pulse + operation.started) % (1 << PULSE_BITS), offset,
                np.zeros(cuts[-1], np.uint8), [*cuts, cuts[-1]],
            )
            operation.active[context.pulse] = context
            operation.started += 1
            self._record(operation, context.pulse, TraceKind.PULSE_START, len(operation.active) - 1)
            self._later(context, operation.node)

    def _end_pulse(self, context: Context) -> None:
        operation = context.operation
        del operation.active[context.pulse]
        self._record(operation, context.pulse, TraceKind.PULSE_END, len(operation.active))
        # Another pulse is the oldest now and may take last credits.
        self._wake(operation)
        self._start_pulses(operation)
        if operation.active:
            return
        head = operation.head
        self._record(operation, context.pulse, TraceKind.OPERATION_END, Status.OK)
        self.completions[operation.node].append({
            "status": Status.OK, "kind": CplKind.COLLECTIVE, "job_id": operation.job_id, "vp": head.source_vp,
            "bytes": head.length, "tag": head.tag,
        })
        queue = self.jobs[operation.node][operation.job_id]
        queue.popleft()
        if queue:
            self._later(queue[0], operation.node)

    # Packets and credits.

    def _arrive(self, packet: Packet) -> None:
        node = packet.dest
        self.buffers[node].setdefault(packet.key, deque()).append(packet)
        self.levels[node] += 1
        self.peaks[node] = max(self.peaks[node], self.levels[node])
        context = self.waiting[node].pop(packet.key, None)
        if context is not None:
            self._later(context, node)

    def _consume(self, packet: Packet) -> None:
        buffer = self.buffers[packet.dest]
        buffer[packet.key].popleft()
        if not buffer[packet.key]:
            del buffer[packet.key]
        self.levels[packet.dest] -= 1
        self.live.discard((packet.dest, packet.key))
        self._later((packet.source, packet.key[0], packet.peer, packet.absent), packet.dest)

    def _return_credit(self, node: int, job_id: int, peer: int, absent: list[int]) -> None:
        # A multicast is out until its last receiver has consumed it.
        absent[0] -= 1
        if absent[0]:
            return
        self.out[node][job_id, peer] -= 1
        queue = self.jobs[node].get(job_id)
        if queue:
            self._wake(queue[0])

    def _wake(self, operation: Operation) -> None:
        for context in operation.blocked:
            self._later(context, operation.node)
        operation.blocked.clear()

    def _take_credit(self, context: Context, peer: int) -> bool:
        operation = context.operation
        share = min(self.peer_credits, _MAX_WINDOW_SLOTS) if context.descriptor.multicast else self.peer_credits
        oldest = next(iter(operation.active.values())) is context
        place = operation.job_id, peer
        if self.out[operation.node][place] >= share - (not oldest):
            return False
        self.out[operation.node][place] += 1
        return True

    # Descriptors.

    def _advance(self, context: Context) -> None:
        """Takes the next small step of a pulse, or puts it to sleep."""
        operation, desc = context.operation, context.descriptor
        node = operation.node
        if not context.begun:
            context.data[context.part] = take_operand(
                desc, pieces=context.pieces(), result=context.data[context.part], memory=self.memories[node]
            )
            context.begun, context.middle = True, False
            self._later(context, node)
            return
        packet: Packet | None = None
        if context.consumed < desc.cp_count:
            key = self._key(operation.job_id, desc.source_vp, context.consumed + desc.seq_skip, context.pulse)
            if key not in self.buffers[node]:
                self.waiting[node][key] = context
                return
            packet = self.buffers[node][key][0]
        ends = packet is not None and packet.coll_end
        final = packet is None or ends or context.consumed + 1 == desc.cp_count
        sends = final and desc.cp and not ends
        if sends and not self._take_credit(context, desc.peer):
            operation.blocked.append(context)
            return
        if packet is not None:
            context.data[context.part] = absorb(desc, context.data[context.part], packet, first=not context.middle)
            context.consumed += 1
            context.middle = True
            self._consume(packet)
        if sends:
            self._send(context, packet)
        if ends or (final and desc.write_back):
            brought = packet is not None and packet.swap_addr
            data, done = context.data[context.part], 0
            for offset, size in context.pieces():
                addr = packet.addr if packet and brought else desc.result_addr + offset
                self.memories[node].span(addr, size)[:] = data[done : done + size]
                done += size
        if final:
            self._record(operation, context.pulse, TraceKind.FIRE, context.position)
            context.position += 1
            context.begun = False
            if ends or desc.ct:
                self._end_pulse(context)
                return
        self._later(context, node)

    def _key(self, job_id: int, vp: int, seq: int, pulse: int) -> Key:
        return job_id, vp, seq % (1 << SEQ_BITS) if self.ordered else None, pulse

    def _send(self, context: Context, consumed: Packet | None) -> None:
        desc = context.descriptor
        dests = self._receivers(context.operation.node, desc)
        absent = [len(dests)]
        for dest in dests:
            self._send_to(context, dest, consumed, absent)

    def _receivers(self, node: int, desc: SimpleNamespace) -> list[int]:
        if desc.multicast:
            members = [
                number for number, other in enumerate(self.nodes) if desc.dest_id in other.groups and number != node
            ]
            if len(members) != desc.members:
                raise ExecutionError(
                    f"members of node {node} must be {len(members)}, the receivers in group {desc.dest_id}, "
                    f"not {desc.members}"
                )
            return members
        if desc.dest_id not in self.numbers:
            raise ExecutionError(f"dest_id of node {node} must be one of the cluster's, not {desc.dest_id}")
        return [self.numbers[desc.dest_id]]

    def _send_to(self, context: Context, dest: int, consumed: Packet | None, absent: list[int]) -> None:
        operation, desc = context.operation, context.descriptor
        vp = consumed.source_vp if desc.swap_local_vp and consumed is not None else desc.dest_vp
        key = self._key(operation.job_id, vp, desc.out_seq_id, context.pulse)
        if self.ordered:
            if (dest, key) in self.live:
                raise DuplicateKeyError(f"two packets {key_name(key)} for node {dest}, one from node {operation.node}")
            self.live.add((dest, key))
        packet = Packet(
            key, operation.node, desc.source_vp, desc.peer, dest, context.data[context.part].copy(),
            bool(desc.swap_remote_data), bool(desc.swap_remote_addr), bool(desc.coll_end_flag),
            desc.remote_addr + context.offset, absent,
        )
        self.n_packets += 1
        self._later(packet, operation.node)

    def _waits(self, queue: deque[Operation]) -> list[str]:
        """Lists the causes that keep the operation at the head of a queue from ending."""
        if not queue:
            return []
        operation = queue[0]
        places = {id(context): key for key, context in self.waiting[operation.node].items()}
        waits = []
        for context in operation.active.values():
            desc = context.descriptor
            if id(context) in places:
                what = f"packet {key_name(places[id(context)])}"
            else:
                what = f"a credit of peer {desc.peer} (NodeID {desc.dest_id})"
            waits.append(f"node {operation.node} pulse {context.pulse} descriptor {context.position} waits for {what}")
        return waits
