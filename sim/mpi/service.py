"""Serves the ranks of one program: collects their calls, has the NICs carry them out, answers."""

import struct
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from firmware_models.schedule import ScheduleError
from firmware_models.schedule.compile import ELEMENT_BYTES
from sim.mpi.agreement import Call, Communicator, DesertionError, DisagreementError, Round
from sim.mpi.clock import Clock
from sim.mpi.error import FabricError
from sim.mpi.fabric import Fabric
from sim.mpi.host_model import HostModel
from sim.mpi.links import Link
from sim.mpi.offload import Offload
from sim.mpi.operation import Operation
from sim.mpi.patience import Patience
from sim.mpi.policy import Policy
from sim.mpi.running import Running
from sim.mpi.standing import Standing, on_the_nics, waiting
from sim.mpi.tally import Tally, name_of, reason_text
from sim.mpi.timeline import Timeline
from sim.mpi.wire import DIFFERENCE, AnswerKind, Collective, Flag, Reason, Request, RequestKind, text
from sim.operation.bounds import received_bytes

DESERTED = "has ended without MPI_Finalize"
"""How messages describe a rank that is gone and has not taken its leave."""
ABORT = "MPI_Abort"
"""The call in which a rank ends all of them."""
_NOMINAL_ELEMENTS = 64
"""Of a block, where it is seen whether the NICs could carry out a collective before its length is known."""


class Service:
    """State of a program's collectives.

    Parameters
    ----------
    fabric : Fabric
        Its NICs.
    policy : Policy
        How.
    """

    def __init__(self, fabric: Fabric, policy: Policy):
        self.fabric = fabric
        self._offload = Offload(fabric.config, fabric.n_nodes, policy)
        self._clock = Clock(policy.simulated, policy.frequency)
        self.tally = Tally(fabric.config.datapath.flit_bytes)
        self.timeline = Timeline("simulated" if policy.simulated else "machine")
        self.host_model = HostModel(policy.host, fabric.measure_message(), policy.frequency)
        self._communicators: dict[int, Communicator] = {}
        self._under_way: dict[int, tuple[Communicator, Round, Running]] = {}
        self._gone: dict[int, str] = {}
        self._ends = False
        self._patience = Patience(policy.patience, policy.work_patience)
        self._last_answer = [0.0] * fabric.n_nodes
        self._begun = time.monotonic()

    def hear(self, link: Link, request: Request, more: bytes) -> None:
        """Takes a message.

        Raises
        ------
        DisagreementError
            If it does not fit those of other ranks.
        """
        match RequestKind(request.kind):
            case RequestKind.COMMUNICATOR:
                self._add_communicator(request, more)
            case RequestKind.RELEASED:
                self._release(link, request)
            case RequestKind.CALL:
                self._call(link, request)
            case RequestKind.ASK:
                self._ask(link, request)
            case RequestKind.JOINED:
                link.joined = True
            case RequestKind.CHECKED:
                self._checked(request, more)
            case RequestKind.BYE:
                self.lose(link.rank, "has called MPI_Finalize")
            case RequestKind.HELLO:
                pass

    def stop_waiting(self) -> None:
        """The program is ended on purpose: nobody waits for ranks that are gone, and none is missed."""
        self._ends = True

    def lose(self, rank: int, how: str) -> None:
        """A rank calls nothing any more. Raises :class:`DisagreementError` if others wait for it."""
        if self._ends:
            return
        self._gone.setdefault(rank, how)
        for communicator in self._communicators.values():
            if rank in communicator.members:
                for found in communicator.rounds:
                    self._check_absent(communicator, found)

    def count(self, link: Link) -> None:
        """Takes what a process has counted by itself; when it is gone, or is about to be ended."""
        for (collective, reason), calls in link.passed().items():
            self.tally.add_passed(name_of(collective), reason_text(reason), calls)
        self.tally.processes += 1
        self.tally.initialized += link.joined

    def report(self) -> dict[str, Any]:
        """Report of the program's collectives for ``--json``."""
        return {
            **self.tally.report(), "host_model": self.host_model.as_dict(), "timeline": self.timeline.report(),
        }

    def standing(self, links: Sequence[Link]) -> Standing:
        """How far the program is."""
        passed = self.tally.calls - self.tally.offloaded + sum(sum(link.passed().values()) for link in links)
        waits = waiting(self._communicators.values())
        if self._under_way:
            waits = on_the_nics(*next(iter(self._under_way.values())))
        return Standing(
            seconds=time.monotonic() - self._begun, offloaded=self.tally.offloaded, passed=passed,
            cycles=self.fabric.cluster.cycle, waits=waits,
        )

    def has_finalized(self, rank: int) -> bool:
        """True if a rank has called MPI_Finalize."""
        return rank in self._gone

    def deserters(self) -> list[int]:
        """Ranks that have ended without MPI_Finalize, in the order in which that was seen."""
        return [rank for rank, how in self._gone.items() if how == DESERTED]

    def advance(self) -> bool:
        """Begins what can begin, and lets time pass for what is under way; whether anything is."""
        for key, communicator in list(self._communicators.items()):
            while (found := communicator.ready()) is not None and self._begin(communicator, found):
                pass
            self._forget(key, communicator)
        if self.fabric.busy:
            for running in self.fabric.advance():
                self._end(running)
        return self.fabric.busy

    def check_patience(self, links: Sequence[Link]) -> list[str]:
        """Looks at what ranks do; lines on those that others wait for and that work, each round once.

        Raises
        ------
        DisagreementError
            If some ranks have waited too long for others: for such as do nothing, or work for ever.
        """
        now = time.monotonic()
        self._patience.look(links, now)
        if self.fabric.busy or self._ends:
            return []
        lines = []
        for communicator in self._communicators.values():
            found = communicator.rounds[0] if communicator.rounds else None
            missing = communicator.missing(found) if found else []
            if found is None or not missing:
                continue
            # A rank that waits for the NICs cannot come, so its own wait begins with its last answer.
            waited = now - max(found.since, *(self._last_answer[communicator.members[rank]] for rank in missing))
            lines.append(self._patience.judge(self._communicators.values(), communicator, found, waited, now))
        return [line for line in lines if line is not None]

    def _add_communicator(self, request: Request, more: bytes) -> None:
        members = struct.unpack(f"<{len(more) // 4}i", more)
        known = self._communicators.setdefault(
            request.communicator, Communicator(text(request.communicator_name), members)
        )
        if known.members != members:
            raise DisagreementError(f"{known.name}: ranks disagree on who is in it: {known.members} and {members}")

    def _release(self, link: Link, request: Request) -> None:
        communicator = self._communicators[request.communicator]
        communicator.released.add(link.rank)
        self._forget(request.communicator, communicator)

    def _forget(self, key: int, communicator: Communicator) -> None:
        """Forgets a communicator that all ranks have released and that has nothing under way."""
        if len(communicator.released) == communicator.size and not communicator.rounds:
            if communicator.job is not None:
                self.fabric.jobs.give_back(communicator.job)
            del self._communicators[key]

    def _call(self, link: Link, request: Request) -> None:
        """Takes a call, and says at once whose it is: MPI begins at each rank when that calls, in the rank's order."""
        communicator = self._communicators[request.communicator]
        call = Call(request, link, time.monotonic())
        found = communicator.add(call)
        if found.reason is None:
            found.reason = "" if communicator.decision else self._decide(communicator, call)[1]
        if found.reason:
            link.answer(request, AnswerKind.PASSED, request.now, Reason.NO_SCHEDULE)
        elif request.flags & Flag.NONBLOCKING and not request.flags & Flag.PERSISTENT:
            link.answer(request, AnswerKind.TAKEN, request.now)
        self._check_absent(communicator, found)

    def _ask(self, link: Link, request: Request) -> None:
        """Says if the NICs take a persistent collective: each rank asks when it is made, and it is decided once."""
        communicator = self._communicators[request.communicator]
        if communicator.decision is None:
            communicator.decision = self._decide(communicator, Call(request, link, time.monotonic()))
        reason, _ = communicator.decision
        kind = AnswerKind.PASSED if reason else AnswerKind.TAKEN
        link.answer(request, kind, request.now, reason)

    def _decide(self, communicator: Communicator, call: Call) -> tuple[Reason, str]:
        """Why MPI shall do what the first rank calls, in number and words; takes a JobID for it if the NICs shall."""
        reason = self._offload.reason(call)
        if reason:
            return reason, reason_text(reason)
        if communicator.job is None:
            communicator.job = self.fabric.jobs.take(communicator.members)
        if communicator.job is None:
            return Reason.NO_JOB, reason_text(Reason.NO_JOB)
        try:
            schedule = self._offload.schedule(communicator, call)
            carried = self._offload.carrier(call)
            element = ELEMENT_BYTES[carried.datatype]
            self.fabric.check(
                Operation(
                    collective=call.collective, ranks=communicator.size, root=call.request.root,
                    datatype=carried.datatype, operator=carried.operator,
                    sizes=(_NOMINAL_ELEMENTS * element * schedule.moves_data,) * schedule.block_count,
                ),
                schedule, nodes=communicator.members, job=communicator.job,
            )
        except ScheduleError as error:
            return Reason.NO_SCHEDULE, str(error)
        return Reason.OFFLOADED, ""

    def _check_absent(self, communicator: Communicator, found: Round) -> None:
        missing = {rank: communicator.members[rank] for rank in communicator.missing(found)}
        gone = {rank: self._gone[world] for rank, world in missing.items() if world in self._gone}
        if gone and found.calls:
            error = DesertionError if DESERTED in gone.values() else DisagreementError
            raise error(communicator.describe(found, "some rank will never come", gone))

    def _begin(self, communicator: Communicator, found: Round) -> bool:
        """Begins a complete round, or counts it if it is MPI's; False if it has to wait for a VP."""
        if found.reason:
            self.tally.add_passed(found.first.collective.mpi_name, found.reason, communicator.size)
            self._pop(communicator, found, AnswerKind.PASSED, [])
            return True
        sizes = communicator.sizes(found)
        assert communicator.job is not None
        if not self.fabric.is_free(communicator.job):
            return False
        self._start(communicator, found, sizes)
        return True

    def _start(self, communicator: Communicator, found: Round, sizes: tuple[int, ...]) -> None:
        request, collective = found.first.request, found.first.collective
        carried = self._offload.carrier(found.first)
        operation = Operation(
            collective=collective, ranks=communicator.size, root=request.root, datatype=carried.datatype,
            operator=carried.operator, sizes=tuple(carried.ratio * size for size in sizes),
        )
        calls = [found.calls[rank] for rank in range(communicator.size)]
        if not operation.bytes and collective is not Collective.BARRIER:
            # Nothing to be moved: all have come, and that is all that MPI asks for.
            self.tally.add(collective.mpi_name, 0, communicator.size, "none: no elements", 0)
            self._pop(communicator, found, AnswerKind.DONE, [])
            return
        assert communicator.job is not None
        try:
            running = self.fabric.start(
                operation, self._offload.schedule(communicator, found.first), nodes=communicator.members,
                job=communicator.job, skews=self._clock.skews(calls),
                operands=[carried.load(call.operand) for call in calls],
                results=[carried.room(call.result) for call in calls],
            )
        except ScheduleError as error:  # though a message of another length could have been carried out
            raise FabricError(communicator.describe(found, str(error))) from None
        communicator.busy = True
        self._under_way[id(running)] = communicator, found, running

    def _end(self, running: Running) -> None:
        communicator, found, _ = self._under_way.pop(id(running))
        communicator.busy = False
        first, carried = found.first, self._offload.carrier(found.first)
        if carried.converts:
            for rank, lanes in enumerate(running.results):
                carried.unload(lanes, found.calls[rank].result)
        self.tally.add(
            first.collective.mpi_name, running.operation.bytes // carried.ratio, communicator.size,
            running.schedule.algorithm, max(0, running.cycles - running.waited),
            by_hosts=partial(self.host_model.cycles, running.schedule, running.block_sizes),
            received=partial(
                received_bytes, running.schedule, [size // carried.ratio for size in running.block_sizes]
            ),
        )
        self._pop(communicator, found, AnswerKind.DONE, running.ended)

    def _pop(self, communicator: Communicator, found: Round, kind: AnswerKind, ended: list[int]) -> None:
        """A round is over; of what the NICs had, all ranks hear that."""
        calls = [found.calls[rank] for rank in range(communicator.size)]
        now, times = time.monotonic(), self._clock.ends(calls, ended)
        for call, over in zip(calls, times, strict=True):
            if kind is AnswerKind.DONE:
                call.link.answer(call.request, kind, over)
            self._last_answer[call.link.rank] = now
        simulated = self._clock.simulated
        self.timeline.add(
            calls[0].collective.mpi_name, communicator.members,
            [call.request.now if simulated else call.time for call in calls],
            times if simulated else [now] * len(calls), by="NICs" if kind is AnswerKind.DONE else "MPI",
        )
        communicator.rounds.popleft()

    def _checked(self, request: Request, more: bytes) -> None:
        communicator = self._communicators[request.communicator]
        self.tally.checked += request.elements
        self.tally.differing += request.id
        size = min(request.in_bytes, 16)
        for index, ours, theirs in DIFFERENCE.iter_unpack(more):
            self.tally.add_difference(
                f"{communicator.name}: {name_of(request.collective)}, rank {request.rank}, element {index}: "
                f"{ours[size - 1::-1].hex() if size else ''} on the NICs, {theirs[size - 1::-1].hex()} by MPI"
            )
