"""An event log becomes activities: begins meet their ends, whatever lies in between."""

import numpy as np

from firmware_models.abi import registers
from firmware_models.abi.encoding import PacketType, TraceKind
from firmware_models.abi.formats import PACKET_HEADER
from sim.cluster import EVENT, EventKind
from sim.cluster.activities import activities
from sim.report.activity import Activity


def log(*entries: tuple[int, int, EventKind, list[int]]) -> np.ndarray:
    """An event log."""
    events = np.zeros(len(entries), EVENT)
    for event, (cycle, node, kind, data) in zip(events, entries, strict=True):
        event["cycle"], event["node"], event["kind"] = cycle, node, int(kind)
        event["data"][:len(data)] = data
    return events


def unit(kind: TraceKind, *, unit: int = 0, job: int = 0, pulse: int = 0, index: int = 0) -> list[int]:
    """Data of a unit's event."""
    return [unit, int(kind), job, pulse, index]


def header(**values: int) -> list[int]:
    """Data of a packet's event."""
    packed = PACKET_HEADER.pack(**values)
    return [int.from_bytes(packed[at:at + 8], "little") for at in range(0, len(packed), 8)]


def spans(found: list[Activity]) -> list[tuple[int, int, str, str]]:
    """Compared fields: begin, end, lane, name."""
    return [(activity.begin, activity.end, activity.lane, activity.name) for activity in found]


def test_host() -> None:
    doorbell = registers.VP_PAGES + 3 * registers.VP_PAGE_BYTES
    found = activities(log(
        (5, 0, EventKind.REGISTER, [0x008, 1]),
        (7, 0, EventKind.REGISTER, [doorbell, 2]),
        (8, 0, EventKind.REGISTER, [doorbell + 4, 1]),
        (90, 0, EventKind.WATCH, [0x1000]),
    ))
    assert spans(found) == [(7, 7, "host", "doorbell"), (90, 90, "host", "completion")]
    assert found[0].detail == "VP 3, 2 descriptors so far"


def test_packets_of_two_channels_interleave() -> None:
    data = header(type=PacketType.COLLECTIVE, version=1, seq_id=4, length=64)
    credit = header(type=PacketType.CREDIT, version=1)
    found = activities(log(
        (10, 1, EventKind.TRANSMIT, data), (11, 1, EventKind.TRANSMIT, credit),
        (12, 1, EventKind.TRANSMIT_END, credit), (20, 1, EventKind.TRANSMIT_END, data),
        (25, 0, EventKind.RECEIVE, data), (30, 0, EventKind.RECEIVE_END, data),
        (31, 1, EventKind.TRANSMIT, data),
    ))
    assert spans(found) == [
        (10, 21, "tx", "data packet"), (11, 13, "tx", "credit packet"), (25, 31, "rx", "data packet"),
    ]
    assert found[0].detail == "source_id 0, dest_id 0, job_id 0, seq_id 4, pulse 0, length 64"


def test_unit() -> None:
    found = activities(log(
        (1, 0, EventKind.UNIT, unit(TraceKind.OPERATION_START, index=2)),
        (2, 0, EventKind.UNIT, unit(TraceKind.PULSE_START, pulse=8, index=0)),
        (3, 0, EventKind.UNIT, unit(TraceKind.PULSE_START, pulse=9, index=1)),
        (4, 0, EventKind.UNIT, unit(TraceKind.FIRE, pulse=9, index=0)),
        (5, 0, EventKind.UNIT, unit(TraceKind.FIRE, pulse=8, index=0)),
        (6, 0, EventKind.UNIT, unit(TraceKind.RETIRE, pulse=9, index=0)),
        (8, 0, EventKind.UNIT, unit(TraceKind.RETIRE, pulse=8, index=0)),
        (9, 0, EventKind.UNIT, unit(TraceKind.PULSE_END, pulse=8, index=0)),
        (9, 0, EventKind.UNIT, unit(TraceKind.FIRE, pulse=9, index=1)),
        (10, 0, EventKind.UNIT, unit(TraceKind.PULSE_END, pulse=9, index=1)),
        (11, 0, EventKind.UNIT, unit(TraceKind.OPERATION_END)),
    ))
    assert spans(found) == [
        (1, 1, "unit 0", "operation starts"), (2, 5, "unit 0", "waits otherwise"), (2, 9, "unit 0", "pulse"),
        (3, 4, "unit 0", "waits otherwise"), (3, 10, "unit 0", "pulse"), (4, 6, "unit 0", "descriptor"),
        (5, 8, "unit 0", "descriptor"), (6, 9, "unit 0", "waits otherwise"), (9, 10, "unit 0", "descriptor"),
        (11, 11, "unit 0", "operation ends"),
    ]
    assert [activity.track for activity in found] == [0, 0, 0, 1, 1, 1, 0, 1, 1, 0]
    assert found[5].detail == "job 0 pulse 9 descriptor 0"
    assert found[8].detail == "job 0 pulse 9 descriptor 1"


def test_a_pulse_waits_for_the_last_packet_and_then_for_the_rest() -> None:
    """Packets of other pulses, and those that came before, are none that it waits for."""
    own, other = (header(type=PacketType.COLLECTIVE, version=1, pulse=pulse, length=64) for pulse in (8, 9))
    entries = [
        (2, 0, EventKind.UNIT, unit(TraceKind.PULSE_START, pulse=8)), (10, 0, EventKind.RECEIVE, own),
        (12, 0, EventKind.RECEIVE_END, own), (14, 0, EventKind.RECEIVE, other), (15, 0, EventKind.RECEIVE_END, other),
        (20, 0, EventKind.UNIT, unit(TraceKind.FIRE, pulse=8, index=0)),
        (25, 0, EventKind.UNIT, unit(TraceKind.RETIRE, pulse=8, index=0)),
        (31, 0, EventKind.UNIT, unit(TraceKind.FIRE, pulse=8, index=1)),
    ]
    assert [span for span in spans(activities(log(*entries))) if "waits" in span[3]] == [
        (2, 13, "unit 0", "waits for packet"), (13, 20, "unit 0", "waits otherwise"),
        (25, 31, "unit 0", "waits otherwise"),
    ]
