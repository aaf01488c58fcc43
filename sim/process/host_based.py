"""A collective that hosts carry out: memory for its processes, and what each of them does."""

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_models.golden import dtype_of
from firmware_models.host import Operation
from firmware_models.schedule import Combine
from sim.host import Host
from sim.host.model import ELEMENT_BYTES
from sim.operation.request import CollectiveRequest
from sim.operation.session import Posted, Session
from sim.process.arithmetic import combined
from sim.process.messenger import Messenger, Place, Waiting
from sim.process.notice import SHORT_BYTES
from sim.process.process import Body, Process
from sim.process.program import TREES, Deliver, Load, Message, Program, Send, chains, programs

_AHEAD = 4
"""Parts of its program that a process of a tree has begun and not ended, each with a message that it has asked for."""
_ALIGNMENT = 64
_MOST_LOG2 = 15
_OVER = object()


class HostBasedJob:
    """One job of a request, carried out by hosts.

    Parameters
    ----------
    session : Session
        NICs, started.
    request : CollectiveRequest
        What to do.
    number : int
        Of the job.
    host : Host
        What the hosts are.

    Members
    -------
    posted : Posted
        Data and ports, for the comparison.
    """

    def __init__(self, session: Session, request: CollectiveRequest, number: int, host: Host):
        self.request, self.host = request, host
        schedule = request.schedule
        self._kind = dtype_of(request.datatype)
        self._programs = programs(
            schedule, n_bytes=request.size, item=self._kind.itemsize, segment_bytes=host.mpi.segment_bytes
        )
        self._combines = any(
            action.combine is Combine.REDUCE for program in self._programs for action in _received(program)
        )
        self._is_tree = (schedule.collective, schedule.algorithm) in TREES
        self._flit = request.config.datapath.flit_bytes
        inputs = request.data(number)
        ports, results = [], []
        self._operands: list[int] = []
        self.places: list[Place] = []
        for rank, driver in enumerate(session.drivers):
            program = self._programs[rank]
            received, sent = _received(program), [each.message for each in program if isinstance(each, Send)]
            entries = len(received) + len(sent)
            port = driver.open_port(number, dq_log2=8, cq_log2=8, rq_log2=_log2(entries))
            operand, vector, result = (driver.allocate(request.size) for _ in range(3))
            driver.store(operand, inputs[rank].tobytes())
            buffer_bytes = _aligned(max((message.n_bytes for message in received), default=0) + self._flit)
            n_buffers = _AHEAD if self._is_tree else 1
            buffers = driver.allocate(n_buffers * buffer_bytes)
            slots = tuple(
                driver.allocate(message.n_bytes) if SHORT_BYTES < message.n_bytes <= host.mpi.eager_bytes else 0
                for message in received
            )
            bounce = driver.allocate(sum(
                _aligned(message.n_bytes) for message in sent if message.n_bytes <= host.mpi.eager_bytes
            ) + _ALIGNMENT)
            end = driver.allocate(_ALIGNMENT)
            port.open_window(operand, end + _ALIGNMENT)
            ports.append(port)
            results.append(result)
            self._operands.append(operand)
            self.places.append(Place(
                node_id=driver.node, vp=number, vector=vector, bounce=bounce, slots=slots,
                buffers=tuple(range(buffers, buffers + n_buffers * buffer_bytes, buffer_bytes)),
            ))
        self.posted = Posted(inputs, Operation(ports, number), results, [self.request] * len(ports))

    def body(self, rank: int, process: Process) -> Body:
        """Body of the process of `rank`."""
        program = self._programs[rank]
        messenger = Messenger(process, rank, self.places, _received(program), flit_bytes=self._flit)
        process.work(self.host.mpi.call_ns)
        parts = deque(chains(program) if self._is_tree else [program])
        begun: list[Waiting] = []
        while parts or begun:
            while parts and len(begun) < _AHEAD:
                begun.append(self._carry_out(parts.popleft(), rank, process, messenger))
            # Each goes on as far as it can; whoever is still there waits for something that has to come.
            begun = [part for part in begun if next(part, _OVER) is not _OVER]
            if begun and (len(begun) == _AHEAD or not parts):
                yield from messenger.take()
        while messenger.is_sending:
            yield from messenger.take()

    def _carry_out(self, program: Program, rank: int, process: Process, messenger: Messenger) -> Waiting:
        """Carries out a part of a program; yields when it has to wait for something to come."""
        memory, here = process.port.driver.memory, self.places[rank]
        operand, result = self._operands[rank], self.posted.result_addresses[rank]
        for action in program:
            match action:
                case Load(first, last):
                    yield from messenger.settle(first, last)
                    # Without reductions a library reads the operand where it is.
                    if self._combines:
                        process.move(2 * self.host.mpi.operand_copies, last - first)
                    memory[here.vector + first:here.vector + last] = memory[operand + first:operand + last]
                case Send():
                    yield from messenger.send(action.message, action.first)
                case Message():
                    data = yield from messenger.receive(action.number)
                    if data is not None:
                        yield from messenger.settle(action.first, action.first + action.n_bytes)
                        self._absorb(process, action, data, memory[here.vector:])
                case Deliver(first, last):
                    memory[result + first:result + last] = memory[here.vector + first:here.vector + last]

    def _absorb(self, process: Process, message: Message, data: NDArray[np.uint8], vector: NDArray[Any]) -> None:
        """Makes of a message what becomes of it."""
        place = slice(message.first, message.first + message.n_bytes)
        if message.replaces:
            if message.n_bytes > SHORT_BYTES:
                process.move(2, message.n_bytes)
            vector[place] = data
        elif message.combine is Combine.REDUCE:
            elements = message.n_bytes / ELEMENT_BYTES
            process.move(3, message.n_bytes, nanoseconds=elements * self.host.cpu.reduce_ns)
            outcome = combined(vector[place].view(self._kind), data.view(self._kind), self.request.op)
            vector[place] = outcome.view(np.uint8)


def _received(program: Program) -> list[Message]:
    return [action for action in program if isinstance(action, Message)]


def memory_bytes(request: CollectiveRequest, host: Host) -> int:
    """Memory that a node needs for all jobs: rings, vectors, buffers, slots."""
    most = 0
    for program in programs(
        request.schedule, n_bytes=request.size, item=dtype_of(request.datatype).itemsize,
        segment_bytes=host.mpi.segment_bytes,
    ):
        messages = [*_received(program), *(each.message for each in program if isinstance(each, Send))]
        eager = sum(_aligned(each.n_bytes) for each in messages if each.n_bytes <= host.mpi.eager_bytes)
        longest = max((message.n_bytes for message in messages), default=0)
        most = max(most, eager + _AHEAD * (longest + 2 * _ALIGNMENT) + (128 << _log2(len(messages))))
    return (1 << 16) + request.jobs * ((1 << 16) + 3 * (request.size + _ALIGNMENT) + most + 8 * _ALIGNMENT)


def _aligned(n_bytes: int) -> int:
    return -(-n_bytes // _ALIGNMENT) * _ALIGNMENT


def _log2(entries: int) -> int:
    """Of a ring for so many mini packets, so that none finds it full."""
    return min(_MOST_LOG2, max(4, entries.bit_length()))

