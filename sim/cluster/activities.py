"""Reads the event log of a cluster: begins and ends become activities."""

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from firmware_models.abi import registers
from firmware_models.abi.encoding import PacketType, TraceKind
from firmware_models.abi.format import WORD_BITS
from firmware_models.abi.formats import PACKET_HEADER
from sim.cluster.cluster import EventKind
from sim.report.activity import Activity

_DOORBELLS = {register.name: register.offset for register in registers.VP_PAGE}

WAITS = PACKET_WAIT, OTHER_WAIT = "waits for packet", "waits otherwise"
"""Waits of a pulse: for a packet that came in that time; for an operand, a credit, or until it is its turn."""


def activities(events: NDArray[Any]) -> list[Activity]:
    """Everything in `events` (dtype ``sim.cluster.EVENT``) that a timeline shows, in order of time.

    What has begun but not ended by the last event is left out.
    """
    reader = _Reader()
    for event in events:
        kind, data = EventKind(int(event["kind"])), [int(word) for word in event["data"]]
        reader.take(int(event["cycle"]), int(event["node"]), kind, data)
    return sorted(reader.done, key=lambda activity: (activity.begin, activity))


class _Reader:
    """Matches ends with their begins."""

    def __init__(self) -> None:
        self.done: list[Activity] = []
        self._open: dict[Hashable, list[int]] = {}
        self._context: dict[Hashable, int] = {}
        """Context that each pulse is in."""
        self._firing: dict[Hashable, int] = {}
        """Place in the sequence of the descriptor that each pulse is at."""
        self._waiting: dict[Hashable, int] = {}
        """Since when each pulse is at no descriptor."""
        self._arrived: dict[Hashable, int] = {}
        """When the last packet of each pulse was there."""

    def take(self, cycle: int, node: int, kind: EventKind, data: list[int]) -> None:
        """Takes the next event."""
        match kind:
            case EventKind.REGISTER:
                self._register(cycle, node, *data[:2])
            case EventKind.WATCH:
                self._instant(cycle, node, "host", "completion", f"at {data[0]:#x}")
            case EventKind.TRANSMIT | EventKind.RECEIVE:
                self._begin((node, kind, *data), cycle)
            case EventKind.TRANSMIT_END:
                self._packet((node, EventKind.TRANSMIT, *data), cycle, node, "tx", data)
            case EventKind.RECEIVE_END:
                self._packet((node, EventKind.RECEIVE, *data), cycle, node, "rx", data)
            case EventKind.UNIT:
                self._unit(cycle, node, TraceKind(data[1]), *data[:1], *data[2:5])

    def _register(self, cycle: int, node: int, address: int, value: int) -> None:
        page, offset = divmod(address - registers.VP_PAGES, registers.VP_PAGE_BYTES)
        if page >= 0 and offset == _DOORBELLS["dq_prod"]:
            self._instant(cycle, node, "host", "doorbell", f"VP {page}, {value} descriptors so far")

    def _packet(self, key: Hashable, cycle: int, node: int, lane: str, data: list[int]) -> None:
        number = _number(data[:PACKET_HEADER.width // WORD_BITS])
        header = PACKET_HEADER.from_int(number)
        kind = PacketType(header["type"])
        if lane == "rx" and kind is PacketType.COLLECTIVE:
            self._arrived[node, header["job_id"], header["pulse"]] = cycle + 1
        name = "data packet" if kind is PacketType.COLLECTIVE else f"{kind.name.lower()} packet"
        of_job = ("job_id", "seq_id", "pulse") if kind in (PacketType.COLLECTIVE, PacketType.CREDIT) else ("tag",)
        fields = ("source_id", "dest_id", *of_job, "length")
        detail = ", ".join(f"{field} {header[field]}" for field in fields)
        # The last flit takes its cycle too: a packet of one flit has a length.
        self._end(key, Activity(node=node, lane=lane, begin=0, end=cycle + 1, name=name, detail=detail, packet=number))

    def _unit(self, cycle: int, node: int, kind: TraceKind, unit: int, job: int, pulse: int, index: int) -> None:
        lane, place = f"unit {unit}", (node, unit, job, pulse)
        match kind:
            case TraceKind.PULSE_START:
                self._context[place] = index
                self._waiting[place] = cycle
                self._begin((place, "pulse"), cycle)
            case TraceKind.PULSE_END:
                self._descriptor(cycle, node, unit, job, pulse)  # the last one has no event of its own
                self._end((place, "pulse"), Activity(
                    node=node, lane=lane, track=index, begin=0, end=cycle, name="pulse",
                    detail=f"job {job} pulse {pulse}",
                ))
            case TraceKind.FIRE:
                self._waits(cycle, node, unit, job, pulse, index)
                self._firing[place] = index
                self._begin(place, cycle)
            case TraceKind.RETIRE:
                self._descriptor(cycle, node, unit, job, pulse)
            case TraceKind.OPERATION_START:
                self._instant(cycle, node, lane, "operation starts", f"job {job}, {index} descriptors")
            case TraceKind.OPERATION_END:
                self._instant(cycle, node, lane, "operation ends", f"job {job}, status {index}")

    def _descriptor(self, cycle: int, node: int, unit: int, job: int, pulse: int) -> None:
        """Ends the descriptor that the pulse is at, if it is at one."""
        place = (node, unit, job, pulse)
        if self._open.get(place):
            self._waiting[place] = cycle
        self._end(place, Activity(
            node=node, lane=f"unit {unit}", track=self._context.get(place, 0), begin=0, end=cycle, name="descriptor",
            detail=f"job {job} pulse {pulse} descriptor {self._firing.get(place)}",
        ))

    def _waits(self, cycle: int, node: int, unit: int, job: int, pulse: int, index: int) -> None:
        """Notes the wait of a pulse before it fires, in two parts: until the last packet that came meanwhile, and the
        rest.
        """
        place = (node, unit, job, pulse)
        begin = self._waiting.get(place, cycle)
        there = min(max(begin, self._arrived.get((node, job, pulse), begin)), cycle)
        for name, since, until in ((PACKET_WAIT, begin, there), (OTHER_WAIT, there, cycle)):
            if until > since:
                self.done.append(Activity(
                    node=node, lane=f"unit {unit}", track=self._context.get(place, 0), begin=since, end=until,
                    name=name, detail=f"job {job} pulse {pulse} descriptor {index}",
                ))

    def _instant(self, cycle: int, node: int, lane: str, name: str, detail: str) -> None:
        self.done.append(Activity(node=node, lane=lane, begin=cycle, end=cycle, name=name, detail=detail))

    def _begin(self, key: Hashable, cycle: int) -> None:
        self._open.setdefault(key, []).append(cycle)

    def _end(self, key: Hashable, ended: Activity) -> None:
        """Gives `ended` the oldest begin of `key`."""
        begins = self._open.get(key)
        if begins:
            self.done.append(replace(ended, begin=begins.pop(0)))


def _number(words: Iterable[int]) -> int:
    return sum(word << (WORD_BITS * place) for place, word in enumerate(words))
