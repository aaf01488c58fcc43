"""The numbers of the paper, written down here from its text, beside what the formulas give."""

import pytest

from firmware_models.connections import Machine, QueueSizes, Scheme, node_bytes, process_bytes, queue_pairs
from firmware_models.connections.memory import n_groups
from firmware_models.connections.paper import (
    PAPER,
    Verdict,
    nearest_connections,
    printed_numbers,
    readings,
)

KB_8000 = QueueSizes(buffer_bytes=8000)
KB_8192 = QueueSizes(buffer_bytes=8192)
MB = 1_000_000
RC, SRQ, XRC, SIZES, GROUP = Scheme.RC, Scheme.RC_SRQ, Scheme.XRC, Scheme.XRC_SIZES, Scheme.GROUP_XRC


@pytest.mark.parametrize(("scheme", "processes", "printed", "tolerance"), [
    (RC, 10_000, 420, 0.5),
    (SRQ, 10_000, 90.88, 0.0092),  # N - 1 connections are 90.871: the paper takes N of 9,088 bytes
])
def test_ten_thousand(scheme: Scheme, processes: int, printed: float, tolerance: float) -> None:
    assert process_bytes(scheme, Machine(n_processes=processes), KB_8000) / MB == pytest.approx(printed, abs=tolerance)


@pytest.mark.parametrize(("scheme", "cores", "process", "process_tolerance", "node", "node_tolerance"), [
    (RC, 8, 336, 0.5, 2688, 8 * 0.5), (RC, 16, 672, 1, 10_750, 16),  # 672 is cut off; nodes are 8 x 336, 16 x 672
    (SRQ, 8, 72.7, 0.05, 581, 1), (SRQ, 16, 145.4, 0.05, 2326, 0.5),  # 581 is cut off
    (XRC, 8, 9.088, 0.0005, 72.7, 0.05), (XRC, 16, 9.088, 0.0005, 145.4, 0.05),
    (SIZES, 8, 3.71, 0.005, 29.6, 8 * 0.0131), (SIZES, 16, 3.71, 0.005, 59.2, 16 * 0.0131),  # 8 and 16 x 3.7
])
def test_table_1(scheme: Scheme, cores: int, process: float, process_tolerance: float, node: float,
                 node_tolerance: float) -> None:
    machine = Machine(n_processes=1000 * cores, n_cores=cores)
    assert process_bytes(scheme, machine, KB_8000) / MB == pytest.approx(process, abs=process_tolerance)
    assert node_bytes(scheme, machine, KB_8000) / MB == pytest.approx(node, abs=node_tolerance)


@pytest.mark.parametrize(("processes", "groups", "connections", "printed", "tolerance"), [
    (320_000, 79, 1102, 10.22, 0.01),  # cut off
    (1_000_000, 245, 1268, 11.77, 0.005),
])
def test_section_4(processes: int, groups: int, connections: int, printed: float, tolerance: float) -> None:
    machine = Machine(n_processes=processes, n_cores=4)
    assert n_groups(machine, 4096) == groups
    assert queue_pairs(GROUP, machine, 4096) == connections
    assert process_bytes(GROUP, machine, KB_8192, 4096) / MB == pytest.approx(printed, abs=tolerance)
    if processes == 320_000:
        assert process_bytes(GROUP, machine, KB_8192, 4096) == 1102 * 8192 + 1102 * 16 * 64 + 1102 * 1 * 64


@pytest.mark.parametrize(("scheme", "numbers"), [
    (SRQ, ((2048, 18.6, 0.05), (4096, 37.2, 0.05), (8192, 74.4, 0.05), (16_384, 148.8, 0.1))),  # the last cut off
    (GROUP, ((2048, 4.65, 0.005), (4096, 9.3, 0.05), (8192, 9.315, 0.0005), (16_384, 9.344, 0.011))),
])
def test_table_2(scheme: Scheme, numbers: tuple[tuple[int, float, float], ...]) -> None:
    """The last number of groups contradicts the formula: 1,027 connections are 9.333."""
    for processes, printed, tolerance in numbers:
        size = min(4096, processes) if scheme is GROUP else None
        found = process_bytes(scheme, Machine(n_processes=processes, n_cores=4), KB_8000, size) / MB
        assert found == pytest.approx(printed, abs=tolerance)


def test_figure_2() -> None:
    """Two nodes of four: 16 connections of a node to the other one, 4 with XRC; in all (m c - 1) c and m c."""
    machine = Machine(n_processes=8, n_cores=4)
    assert (queue_pairs(RC, machine) - 3) * 4 == 16
    assert (queue_pairs(XRC, machine) - 1) * 4 == 4
    assert [queue_pairs(scheme, machine) * 4 for scheme in (RC, XRC)] == [(2 * 4 - 1) * 4, 2 * 4]


def test_verdicts() -> None:
    """Numbers that do not come out as printed, and the reasons, are known one by one."""
    found = {f"{number.place}, {number.what}": number.verdict for number in printed_numbers()
             if number.verdict is not Verdict.ROUNDED}
    assert found == {
        "section 2, RC with SRQ, 10k processes": Verdict.OTHERWISE,
        "table 1, RC, m = 1000, c = 8, a node": Verdict.OTHERWISE,
        "table 1, RC_SRQ, m = 1000, c = 8, a node": Verdict.TRUNCATED,
        "table 1, XRC_M, m = 1000, c = 8, a node": Verdict.OTHERWISE,
        "table 1, RC, m = 1000, c = 16, a process": Verdict.TRUNCATED,
        "table 1, RC, m = 1000, c = 16, a node": Verdict.OTHERWISE,
        "table 1, XRC_M, m = 1000, c = 16, a node": Verdict.OTHERWISE,
        'section 3.2, RC_SRQ over XRC_M, c = 16 ("nearly 40 times")': Verdict.OTHERWISE,
        "section 4.2, XRC_S_G, 320,000 processes, a process": Verdict.TRUNCATED,
        "table 2, RC_SRQ, 16,384 processes": Verdict.TRUNCATED,
        "table 2, XRC_S_G, 16,384 processes": Verdict.NONE,
    }
    assert len(printed_numbers()) == 34


def test_contradiction() -> None:
    """9.344 MB is between 1,028 and 1,029 connections, whichever way 8 kB is read; the formula has 1,027."""
    (number,) = [number for number in printed_numbers() if number.verdict is Verdict.NONE]
    assert number.value == pytest.approx(9.333376)
    assert [(count, round(size, 4)) for _, count, size in nearest_connections(number)] == [
        (1028, 9.3425), (1007, 9.345)]


def test_reading() -> None:
    """Of all readings of the units the one that is taken gives most numbers."""
    counts = dict(readings())
    assert len(counts) == 8
    assert max(counts, key=lambda reading: counts[reading]) == PAPER
    assert sorted(counts.values())[-2:] == [22, 23]
