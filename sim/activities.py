"""Turns the events of a run into what happened at each node, for timelines."""

from typing import Any

from numpy.typing import NDArray

from firmware_models.abi import registers
from firmware_models.abi.encoding import PacketType, TraceKind
from firmware_models.abi.formats import PACKET_HEADER
from sim.cluster import EventKind
from sim.report.activity import Activity

_DOORBELLS = {
    register.offset: register.name for register in registers.VP_PAGE if register.name == "dq_prod"
}


def activities(events: NDArray[Any]) -> list[Activity]:
    """Activities in order of their beginning.

    Parameters
    ----------
    events : array of ``sim.cluster.EVENT``
        The log of a cluster.
    """
    found: list[Activity] = []
    open_packets: dict[tuple[int, str, bytes], int] = {}
    open_pulses: dict[tuple[int, ...], int] = {}
    for event in events:
        node, cycle, kind = int(event["node"]), int(event["cycle"]), EventKind(event["kind"])
        if kind in (EventKind.TRANSMIT, EventKind.RECEIVE):
            open_packets[node, _lane(kind), _header(event)] = cycle
        elif kind in (EventKind.TRANSMIT_END, EventKind.RECEIVE_END):
            header = _header(event)
            begin = open_packets.pop((node, _lane(kind), header), cycle)
            name = _packet_name(header, sent=kind is EventKind.TRANSMIT_END)
            found.append(Activity(node=node, lane=_lane(kind), begin=begin, end=cycle + 1, name=name))
        elif kind is EventKind.UNIT:
            found += _unit_activity(node, cycle, [int(word) for word in event["data"]], open_pulses)
        elif kind is EventKind.REGISTER:
            address = int(event["data"][0])
            page, offset = divmod(address - registers.VP_PAGES, registers.VP_PAGE_BYTES)
            if address >= registers.VP_PAGES and offset in _DOORBELLS:
                found.append(Activity(node=node, lane="host", begin=cycle, end=cycle, name=f"doorbell of VP {page}"))
        else:
            found.append(Activity(node=node, lane="host", begin=cycle, end=cycle, name="completion"))
    return sorted(found, key=lambda activity: (activity.begin, activity.node, activity.lane, activity.end))


def _lane(kind: EventKind) -> str:
    return "tx" if kind in (EventKind.TRANSMIT, EventKind.TRANSMIT_END) else "rx"


def _header(event: Any) -> bytes:
    return bytes(event["data"].tobytes()[: PACKET_HEADER.bytes])


def _packet_name(header: bytes, *, sent: bool) -> str:
    fields = PACKET_HEADER.unpack(header)
    kind = PacketType(fields["type"])
    where = f"to node {fields['dest_id']}" if sent else f"from node {fields['source_id']}"
    if kind is PacketType.COLLECTIVE:
        return f"job {fields['job_id']} pulse {fields['pulse']} SeqID {fields['seq_id']} {where}"
    if kind is PacketType.CREDIT:
        return f"credit of job {fields['job_id']} {where}"
    return f"{kind.name} {where}"


def _unit_activity(
    node: int, cycle: int, data: list[int], open_pulses: dict[tuple[int, ...], int]
) -> list[Activity]:
    unit, event, job, pulse, index = data[:5]
    lane = f"unit {unit}"
    key = (node, unit, job, pulse)
    if event == TraceKind.PULSE_START:
        open_pulses[key] = cycle
    elif event == TraceKind.PULSE_END:
        begin = open_pulses.pop(key, cycle)
        return [Activity(node=node, lane=lane, begin=begin, end=cycle, name=f"job {job} pulse {pulse}")]
    elif event == TraceKind.FIRE:
        name = f"job {job} pulse {pulse}: descriptor {index} fires"
        return [Activity(node=node, lane=lane, begin=cycle, end=cycle, name=name)]
    return []
