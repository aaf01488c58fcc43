"""Process of one rank: begins operations when they may begin, and takes what comes.

One thread of a rank sends, receives and calls collectives, whatever their `cpu`; a ``calc`` of cpu 0 takes its time,
those of other cpus go on beside it, each on a core of its own. What is due is done in this order: calculations that
have ended, operations that may begin, entries of the rings.
"""

import heapq
import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firmware_models.abi.encoding import CplKind, P2pOp
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.connections.trace.goal_text import ANY, Operation
from firmware_models.host import Completion, Received
from sim.goal.plan import GoalError, Plan
from sim.process.notice import HEADER_BYTES, SHORT_BYTES, UNTAGGED, Notice, notice, parsed, transfer
from sim.process.process import Body, Process
from sim.report.activity import Activity

_RESERVE = 32
"""Entries of the descriptor ring for answers, which never wait for room."""


@dataclass(kw_only=True)
class Memory:
    """Where a rank keeps its data: address of each of its sends, of its receives, and of eager messages to it."""

    sends: dict[int, int] = field(default_factory=dict)
    receives: dict[int, int] = field(default_factory=dict)
    slots: dict[int, int] = field(default_factory=dict)


class Rank:
    """A rank while the schedule runs.

    Parameters
    ----------
    plan : Plan
        The schedule.
    rank : int
        Which one.
    process : Process
        Its process.
    memories : list of Memory
        Of all ranks.
    sequences : dict
        Packed descriptors of each of its collectives, by operation.
    expected : callable
        The bytes of a send.

    Members
    -------
    ended : dict of float
        Cycle in which each operation has ended.
    wrong_bits : int
        Bits of received messages that are not those which were sent.
    n_messages, n_bytes : int
        What it has received.
    """

    def __init__(
        self, plan: Plan, rank: int, process: Process, memories: list[Memory], sequences: dict[int, bytes],
        expected: Callable[[int], bytes],
    ):
        self.plan, self.rank, self.process = plan, rank, process
        self.ended: dict[int, float] = {}
        self.began: dict[int, float] = {}
        self.wrong_bits = self.n_messages = self.n_bytes = 0
        self._memories, self._here = memories, memories[rank]
        self._sequences, self._expected = sequences, expected
        self._memory = process.port.driver.memory
        self._eager = process.host.mpi.eager_bytes
        self._needs = {number: plan.needs[number] for number in plan.by_rank[rank]}
        self._since = dict.fromkeys(self._needs, process.time)
        """When the last of what each waits for had happened: that is not always heard of in the order of time."""
        self._ready: list[tuple[float, int]] = [
            (process.time, number) for number, needs in self._needs.items() if not needs
        ]
        heapq.heapify(self._ready)
        self._running: list[tuple[float, int]] = []
        """Calculations of other cpus: when they end."""
        self._posted: list[int] = []
        """Receives that have met no message."""
        self._unexpected: list[tuple[int, int, bytes]] = []
        """Messages that have met no receive: the send, its address there, its bytes if it is short."""
        self._getting: dict[int, int] = {}
        """Receive that each send is being read for."""

    @property
    def left(self) -> list[Operation]:
        """Operations that have not ended, those that have begun first."""
        numbers = [number for number in self._needs if number not in self.ended]
        return [self.plan.operations[number] for number in sorted(numbers, key=lambda each: each not in self.began)]

    def body(self) -> Body:
        """Does it all."""
        process = self.process
        while len(self.ended) < len(self._needs):
            if self._running and self._running[0][0] <= process.time:
                self._end(*heapq.heappop(self._running)[::-1])
            elif self._ready and self._ready[0][0] <= process.time:
                if (yield from self._reached()):
                    yield from self._begin(*heapq.heappop(self._ready))
            else:
                upcoming = min(
                    self._running[0][0] if self._running else math.inf,
                    self._ready[0][0] if self._ready else math.inf,
                )
                if (yield from process.wait_until(upcoming)):
                    self._take((yield from process.next_entry()))

    def _reached(self) -> Generator[None, None, bool]:
        """Waits until all is known that may have happened before now; False if that has changed what is due."""
        if self.process.time < self.process.horizon:
            return True
        yield from self.process.wait_until(self.process.time)
        return False

    def spans(self) -> list[Activity]:
        """When each operation was under way, for timelines: a track for each of those that overlap."""
        return [
            Activity(
                node=self.rank, lane="rank", begin=math.floor(self.began[number]), end=math.ceil(end),
                name=self.plan.operations[number].kind, detail=str(self.plan.operations[number]),
            )
            for number, end in self.ended.items()
        ]

    # Beginning of operations.

    def _begin(self, since: float, number: int) -> Body:
        """Begins an operation that could have begun at `since`, before what else the thread did."""
        operation, process = self.plan.operations[number], self.process
        if operation.kind == "calc":
            self._calculate(since, number, operation)
            return
        count = len(self._sequences[number]) // DESCRIPTOR.bytes if number in self._sequences else 0
        while process.port.room < _RESERVE + count:
            self._take((yield from process.next_entry()))
        self._note_begin(number, process.time)
        process.work(process.host.mpi.match_ns)
        match operation.kind:
            case "send":
                self._send(number, operation)
            case "recv":
                self._posted.append(number)
                self._meet_unexpected(number)
            case _:
                process.work(process.host.mpi.call_ns - process.host.mpi.match_ns)
                process.post(self._sequences[number], count)

    def _calculate(self, since: float, number: int, operation: Operation) -> None:
        process = self.process
        if operation.cpu == 0:
            self._note_begin(number, process.time)
            process.work(operation.amount)
            self._end(number, process.time)
            return
        cores = process.node.cores
        core = operation.cpu % len(cores)
        begin = max(since, cores[core])
        cores[core] = begin + process.host.cycles(operation.amount)
        self._note_begin(number, begin)
        heapq.heappush(self._running, (cores[core], number))

    def _send(self, number: int, operation: Operation) -> None:
        process, there = self.process, self._memories[operation.peer]
        local = self._here.sends[number]
        if operation.amount <= min(SHORT_BYTES, self._eager):
            data = self._memory[local:local + operation.amount].tobytes()
            self._post(self._notice(operation.peer, Notice.SHORT, number, payload=data))
        elif operation.amount <= self._eager:
            process.move(2, operation.amount)
            self._post(
                transfer(P2pOp.PUT, process.port.vp, self._address(operation.peer), operation.amount, local=local,
                         remote=there.slots[number]),
                self._notice(operation.peer, Notice.EAGER, number),
            )
        else:
            self._post(self._notice(operation.peer, Notice.READY, number, local))
            return
        self._end(number, process.time)

    # Arrivals.

    def _take(self, entry: Completion | Received) -> None:
        if isinstance(entry, Received):
            self._hear(entry)
        elif entry.kind is CplKind.COLLECTIVE:
            self._end(self.plan.rounds[entry.tag][self.rank], self.process.time)
        elif entry.tag != UNTAGGED:
            self._post(self._notice(self.plan.operations[entry.tag].rank, Notice.FREE, entry.tag))
            self._received(self._getting.pop(entry.tag), entry.tag)

    def _hear(self, entry: Received) -> None:
        kind, number, address = parsed(entry.payload)
        if kind is Notice.FREE:
            self._end(number, self.process.time)
            return
        self.process.work(self.process.host.mpi.match_ns)
        message = number, address, entry.payload[HEADER_BYTES:] if kind is Notice.SHORT else b""
        for place, wanted in enumerate(self._posted):
            if self._meets(wanted, number):
                del self._posted[place]
                self._land(wanted, *message)
                return
        self._unexpected.append(message)

    def _meet_unexpected(self, wanted: int) -> None:
        for place, message in enumerate(self._unexpected):
            if self._meets(wanted, message[0]):
                del self._unexpected[place]
                self._posted.remove(wanted)
                self._land(wanted, *message)
                return

    def _meets(self, wanted: int, sent: int) -> bool:
        receive, send = self.plan.operations[wanted], self.plan.operations[sent]
        return receive.peer in (ANY, send.rank) and receive.tag in (ANY, send.tag)

    def _land(self, wanted: int, sent: int, address: int, short: bytes) -> None:
        """A message has met its receive."""
        receive, send = self.plan.operations[wanted], self.plan.operations[sent]
        if send.amount > receive.amount:
            raise GoalError(f"{self.plan.name}:{receive.line}: recv must have room for what comes, and {receive} has "
                            f"none for {send}")
        target = self._here.receives[wanted]
        if send.amount > self._eager:
            self._getting[sent] = wanted
            self._post(transfer(P2pOp.GET, self.process.port.vp, self._address(send.rank), send.amount, local=target,
                                remote=address, tag=sent))
            return
        if send.amount > SHORT_BYTES:
            slot = self._here.slots[sent]
            self.process.move(2, send.amount)
            self._memory[target:target + send.amount] = self._memory[slot:slot + send.amount]
        else:
            self._memory[target:target + send.amount] = np.frombuffer(short[:send.amount], np.uint8)
        self._received(wanted, sent)

    def _received(self, wanted: int, sent: int) -> None:
        """A message is where it belongs."""
        n_bytes, target = self.plan.operations[sent].amount, self._here.receives[wanted]
        got = self._memory[target:target + n_bytes]
        self.wrong_bits += int(np.bitwise_count(got ^ np.frombuffer(self._expected(sent), np.uint8)).sum())
        self.n_messages += 1
        self.n_bytes += n_bytes
        self._end(wanted, self.process.time)

    # Bookkeeping.

    def _note_begin(self, number: int, cycle: float) -> None:
        self.began[number] = cycle
        self._release(number, cycle, is_begin=True)

    def _end(self, number: int, cycle: float) -> None:
        self.ended[number] = cycle
        self._release(number, cycle, is_begin=False)

    def _release(self, number: int, cycle: float, *, is_begin: bool) -> None:
        for waiter, begin_only in self.plan.waiting[number]:
            if begin_only is not is_begin:
                continue
            self._needs[waiter] -= 1
            self._since[waiter] = max(self._since[waiter], cycle)
            if not self._needs[waiter]:
                heapq.heappush(self._ready, (self._since[waiter], waiter))

    def _address(self, rank: int) -> tuple[int, int]:
        return rank, self.process.port.vp

    def _notice(self, peer: int, kind: Notice, number: int, address: int = 0, **more: Any) -> bytes:
        return notice(self.process.port.vp, self._address(peer), kind, number, address, **more)

    def _post(self, *descriptors: bytes) -> None:
        self.process.post(b"".join(descriptors), len(descriptors))
