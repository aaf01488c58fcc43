"""Outputs that an operation may make at most, given the packets that have come: its pulses run ahead of any unit."""

from collections import Counter, deque
from dataclasses import dataclass

from firmware_models.abi.encoding import Status
from testbench.offload_unit.memory import HostMemory
from testbench.offload_unit.pulse import Effect, Fault, Operation, Pulse
from testbench.offload_unit.record import Packet


@dataclass(eq=False)
class Arrival:
    """A packet that came and whose credit has not returned."""

    packet: Packet
    taken: bool = False
    """An operation takes it: its credit may return."""


@dataclass(eq=False)
class Sending:
    """A packet that is to leave."""

    packet: Packet
    known: bool
    marked: bool
    """It has to say that there was an error."""


class Expectation:
    """An operation of which each pulse goes as far as packets let it, without cycles, credits and contexts.

    Members
    -------
    sends : list of Sending
        Packets that may leave, and have not.
    written : dict of int to deque
        Bytes that are to be written, by address, in order; None: any byte.
    queries : list of dict
        Checks of addresses that are to be made.
    faults : list of Fault
        Errors that its completion may name.
    operands : list of (int, int)
        What may be read.
    """

    def __init__(self, operation: Operation, memory: HostMemory):
        self.operation, self.memory = operation, memory
        self.pulses = [operation.pulse(index) for index in range(operation.n_pulses)]
        self.sends: list[Sending] = []
        self.written: dict[int, deque[int | None]] = {}
        self.queries: list[dict[str, int]] = []
        self.faults: list[Fault] = []
        self.operands: list[tuple[int, int]] = []
        self.n_fired = self.n_unacknowledged = 0
        self.is_closed = False
        self.counts: Counter[str] = Counter()

    @property
    def is_through(self) -> bool:
        """True if all pulses are."""
        return all(pulse.over for pulse in self.pulses)

    def advance(self, buffer: dict[tuple[int, ...], Arrival]) -> None:
        """Lets all pulses go on; packets that they take leave `buffer`."""
        for pulse in self.pulses:
            while not pulse.over and self._advance(pulse, buffer):
                pass

    def _advance(self, pulse: Pulse, buffer: dict[tuple[int, ...], Arrival]) -> bool:
        if operand := pulse.operand():
            self.operands += operand
            content = [self.memory.read(*piece) for piece in operand]
            fault = pulse.load(None if None in content else content)
            self.faults += [fault] if fault else []
        key = pulse.wanted()
        if key is not None and key not in buffer:
            return False
        packet = None
        if key is not None:
            arrival = buffer.pop(key)
            arrival.taken, packet = True, arrival.packet
        step = pulse.next_pass(packet)
        allowed = step.query is None or self.memory.allows(step.query)
        self.queries += [step.query] if step.query else []
        self.n_fired += step.final
        was_known = pulse.known
        self._note(pulse, pulse.carry_out(step, allowed=allowed), known=was_known)
        return True

    def _note(self, pulse: Pulse, effect: Effect, *, known: bool) -> None:
        self.faults += effect.faults
        if effect.sent is not None:
            self.sends.append(Sending(effect.sent, known, pulse.spoilt))
        for address, content in effect.writes:
            for place, byte in enumerate(content, address):
                self.written.setdefault(place, deque()).append(byte if known else None)

    def allows(self, fault: Fault) -> bool:
        """True if the operation may end so."""
        if self.is_closed and fault == (Status.JOB_CLOSED, 0):
            return True
        return fault in self.faults or (not self.faults and fault == (Status.OK, 0))
