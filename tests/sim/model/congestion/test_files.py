"""Files of the ns-3 release of HPCC: read, written, refused with file, line, field, value and what is allowed."""

from itertools import pairwise
from pathlib import Path

import pytest

from sim.model.congestion import (
    CongestionError,
    Flow,
    Link,
    defaults,
    draw,
    dumbbell,
    fat_tree,
    read_flows,
    read_topology,
    simulate,
    write_fct,
    write_flows,
    write_pfc,
    write_topology,
)
from sim.model.congestion.traffic import Traffic

TOPOLOGY = """5 1 4
4
0 4 100Gbps 0.001ms 0
1 4 25Gbps 1us 0.000000
2 4 100Gbps 1000ns 0
3 4 400Gb/s 2000ns 0

First line: total node #, switch node #, link #
"""
FLOWS = "3\n0 1 3 100 200000000 2\n1 2 3 101 5000 2.000000001\n0 1 3 100 1 2.5\nmore words\n"


@pytest.fixture
def topology(tmp_path: Path) -> Path:
    path = tmp_path / "topology.txt"
    path.write_text(TOPOLOGY)
    return path


def test_topology(topology: Path) -> None:
    """Units and free text behind the links as in the release's own samples."""
    network = read_topology(topology)
    assert network.links == (Link(0, 4, 10**11, 1000), Link(1, 4, 25 * 10**9, 1000), Link(2, 4, 10**11, 1000),
                             Link(3, 4, 4 * 10**11, 2000))
    assert network.switches == {4}
    assert [network.number_of(p) for p in (0, 1, 3, 5, 7)] == [1, 1, 2, 3, 4]


def test_round_trips(topology: Path, tmp_path: Path) -> None:
    network = fat_tree(2, uplink=4 * 10**11)
    write_topology(network, tmp_path / "out.txt")
    again = read_topology(tmp_path / "out.txt")
    assert (again.links, again.switches, again.n_nodes) == (network.links, network.switches, network.n_nodes)
    flows = draw(network.hosts, Traffic(load=0.3, duration_ns=20_000))
    write_flows(flows, tmp_path / "flows.txt")
    read = read_flows(tmp_path / "flows.txt", network)
    key = lambda flow: (flow.source, flow.destination, flow.size, flow.start_ns, flow.port, flow.kind)  # noqa: E731
    assert [key(flow) for flow in read] == [key(flow) for flow in flows]


def test_flows(topology: Path, tmp_path: Path) -> None:
    path = tmp_path / "flow.txt"
    path.write_text(FLOWS)
    flows = read_flows(path, read_topology(topology))
    assert [(flow.size, flow.start_ns, flow.kind) for flow in flows] == [
        (200_000_000, 2_000_000_000, "long"), (5000, 2_000_000_001, "short"), (1, 2_500_000_000, "long")]


@pytest.mark.parametrize(("old", "new", "says"), [
    ("5 1 4\n", "5 x 4\n", ":1: switches: must be 1 to 3, not 'x'"),
    ("4\n0 4", "9\n0 4", ":2: switch: must be a node, 0 to 4, not '9'"),
    ("1 4 25", "1 7 25", ":4: node: must be a node, 0 to 4, not '7'"),
    ("1 4 25", "1 1 25", ":4: node: must be another node than 1, not linked with it yet, not '1'"),
    ("1 4 25", "0 4 25", ":4: node: must be another node than 0, not linked with it yet, not '4'"),
    ("25Gbps", "25Gbit", ":4: rate: must be 1Mbps to 1000Gbps with a unit of bps, Kbps, Mbps or Gbps, not '25Gbit'"),
    ("25Gbps", "0Gbps", ":4: rate: must be 1Mbps to 1000Gbps"),
    ("25Gbps", "2000Gbps", ":4: rate: must be 1Mbps to 1000Gbps"),
    ("1us", "0.5ns", ":4: delay: must be 0ns to 10ms, whole nanoseconds"),
    ("1us", "-1us", ":4: delay: must be 0ns to 10ms"),
    ("0.000000", "0.1", ":4: error rate: must be 0: links lose nothing here, not '0.1'"),
    ("0.000000", "nan", ":4: error rate: must be 0"),
    ("5 1 4\n", "6 1 4\n", "node 5: a host must have one link, not 0"),
])
def test_bad_topology(topology: Path, old: str, new: str, says: str) -> None:
    topology.write_text(TOPOLOGY.replace(old, new, 1))
    with pytest.raises(CongestionError) as refused:
        read_topology(topology)
    assert str(refused.value).startswith(str(topology))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_short_topology(topology: Path) -> None:
    topology.write_text("5 1 4\n4\n0 4 100Gbps\n")
    with pytest.raises(CongestionError, match=r":3: delay: is missing at the end of the file; must be 0ns"):
        read_topology(topology)
    topology.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CongestionError, match="must be a text file"):
        read_topology(topology)


@pytest.mark.parametrize(("old", "new", "says"), [
    ("3\n0", "0\n0", ":1: flows: must be 1 to 131072, not '0'"),
    ("3\n0", "4\n0", ":5: source: must be a host of"),
    ("1 2 3 101", "4 2 3 101", ":3: source: must be a host of"),
    ("1 2 3 101", "1 1 3 101", ":3: destination: must be another host than the source, 1, not '1'"),
    ("1 2 3 101", "1 9 3 101", "0 to 3, not '9'"),
    ("1 2 3 101", "1 2 0 101", ":3: priority group: must be 1 to 7, not '0'"),
    ("1 2 3 101", "1 2 4 101", ":3: priority group: must be the same for all flows, 3"),
    ("1 2 3 101", "1 2 3 65536", ":3: destination port: must be 0 to 65535"),
    ("101 5000", "101 0", ":3: bytes: must be 1 to"),
    ("2.000000001", "1.9", ":3: time: must be seconds from 2, the flow before, to 1000000, not '1.9'"),
    ("2.000000001", "inf", ":3: time: must be seconds from 2"),
    ("2.000000001", "soon", ":3: time: must be seconds from 2"),
])
def test_bad_flows(topology: Path, tmp_path: Path, old: str, new: str, says: str) -> None:
    path = tmp_path / "flow.txt"
    path.write_text(FLOWS.replace(old, new, 1))
    with pytest.raises(CongestionError) as refused:
        read_flows(path, read_topology(topology))
    assert str(refused.value).startswith(str(path))
    assert says in str(refused.value)


def test_results_in_the_columns_of_the_release(tmp_path: Path) -> None:
    """Addresses 11.x.y.1; ports from 10000; bytes, begin, time, time alone; pauses and resumes in turn at each port."""
    network = dumbbell(2)
    flows = [Flow(0, 2, 1_000_000, 2_000_000_000), Flow(1, 2, 1_000_000, 2_000_000_000),
             Flow(0, 2, 1500, 2_000_001_000, 101)]
    outcome = simulate(network, flows, defaults("none", 10**11))
    write_fct(outcome, tmp_path / "fct.txt")
    lines = [line.split() for line in (tmp_path / "fct.txt").read_text().splitlines()]
    assert len(lines) == 3
    assert lines[0][:6] == ["0b000001", "0b000201", "10001", "101", "1500", "2000001000"]
    # Base round trip: 3 links of 1 µs both ways, a payload of 80 ns on each; then 1,500 bytes and two headers of 48.
    assert int(lines[0][7]) == 6000 + 3 * 80 + (1500 + 2 * 48) * 8 // 100
    assert {tuple(line[:3]) for line in lines[1:]} == {("0b000001", "0b000201", "10000"),
                                                      ("0b000101", "0b000201", "10000")}
    assert all(int(line[6]) >= int(line[7]) for line in lines[1:])
    write_pfc(outcome, tmp_path / "pfc.txt")
    frames = [tuple(map(int, line.split())) for line in (tmp_path / "pfc.txt").read_text().splitlines()]
    assert frames
    assert {(node, kind, port) for _, node, kind, port, _ in frames} == {(0, 0, 1), (1, 0, 1)}  # hosts are paused
    for host in (0, 1):
        mine = [frame[4] for frame in frames if frame[1] == host]
        assert mine == [1, 0] * (len(mine) // 2)
    assert all(2_000_000_000 <= first[0] <= second[0] for first, second in pairwise(frames))
