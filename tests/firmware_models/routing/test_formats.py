"""Formats: real dumps are read, written again byte for byte, and refused by line when they are malformed."""

from pathlib import Path

import numpy as np
import pytest

from firmware_models.routing.algorithm import Options, Router, violations
from firmware_models.routing.formats import (
    ibnetdiscover_text,
    mcfdbs_text,
    net_text,
    read_groups,
    read_network,
    read_tables,
    sa_dump_text,
)
from firmware_models.routing.network import Network, RoutingError


@pytest.mark.parametrize(("fabric", "groups", "dump"), [
    ("ft8.net", "ft8.sadb", "ft8.mcfdbs"), ("ft4.net", "opensm-sa.dump", "opensm.mcfdbs"),
    ("ibnetdiscover.txt", "opensm-sa.dump", "opensm.mcfdbs"),
])
def test_minhop_is_opensm(data: Path, fabric: str, groups: str, dump: str) -> None:
    """The tables of a real OpenSM 3.3.23, byte for byte."""
    network = read_network(data / fabric)
    router = Router(network, Options(algorithm="minihop"))
    list(router.join_all(read_groups(data / groups, network)))
    assert mcfdbs_text(network, router.forest.tables()) == (data / dump).read_text()
    assert violations(router.forest, router.groups) == []


def test_tables_are_read(data: Path) -> None:
    """Both formats of one fabric hold the same tables; what is read is what is checked."""
    network = read_network(data / "ft4.net")
    tables = read_tables(data / "opensm.mcfdbs", network)
    assert len(tables) == 48
    assert tables == read_tables(data / "dump_ftsM.txt", network)
    router = Router(network, Options(algorithm="minihop"))
    list(router.join_all(read_groups(data / "opensm-sa.dump", network)))
    assert violations(router.forest, router.groups, tables=tables) == []
    tables.ports[5] ^= np.uint64(2)
    assert violations(router.forest, router.groups, tables=tables)


@pytest.mark.parametrize("text_of", [net_text, ibnetdiscover_text])
@pytest.mark.parametrize("fabric", ["ft4.net", "ibnetdiscover.txt", "ft8.net"])
def test_fabric_round_trip(data: Path, tmp_path: Path, fabric: str, text_of) -> None:
    network = read_network(data / fabric)
    again = tmp_path / "again.net"
    again.write_text(text_of(network))
    back = read_network(again)
    assert sorted(back.switch_guids.tolist()) == sorted(network.switch_guids.tolist())
    assert cables_by_guid(back) == cables_by_guid(network)
    assert list(back.switch_names) == list(network.switch_names)
    assert list(back.terminal_names) == list(network.terminal_names)


def cables_by_guid(network: Network) -> set:
    guids = network.switch_guids.tolist()
    ends = {frozenset([(guids[a], p), (guids[b], q)]) for a, p, b, q in network.cables().tolist()}
    return ends | {(guid, guids[leaf], port) for guid, leaf, port in
                   zip(network.port_guids.tolist(), network.leaf.tolist(), network.leaf_port.tolist(), strict=True)}


FREE_TEXT = '''
# the IDs are free text, and so are descriptions
switchguid=0x7
Switch 4 "a # switch, [1]"   # "rack 3 \\ top" base port 0
[1] "node one"[1]  # x
[2](12) "node one"[2](99)
[4] "b"[1]

switchguid=0x100(100)
Switch 2 "b"
[1] "a # switch, [1]"[4]

Hca 2 "node one" # "two ports"
[1](51) "a # switch, [1]"[1]
[2] "a # switch, [1]"[2]
'''


def test_free_text(tmp_path: Path) -> None:
    """A node with two cabled ports is two terminals; a port's GUID may stand at either end; a node may have none."""
    path = tmp_path / "free.txt"
    path.write_text(FREE_TEXT)
    network = read_network(path)
    assert list(network.switch_names) == ["rack 3 \\ top", "b"]
    assert list(network.terminal_names) == ["two ports/1", "two ports/2"]
    assert network.port_guids.tolist() == [0x51, 0x99]
    assert network.terminal_port.tolist() == [1, 2]
    assert network.cables().tolist() == [[0, 4, 1, 1]]
    # 0x100 comes before 0x7: bytes are compared from the lowest, as OpenSM does on x86.
    assert network.opensm_order.tolist() == [1, 0]
    for text in (net_text(network), ibnetdiscover_text(network)):
        path.write_text(text)
        assert cables_by_guid(read_network(path)) == cables_by_guid(network)


@pytest.mark.parametrize(("line", "text", "message"), [
    (4, 'Switch four "x"', r':4: expected KEYguid=0xHEX, Switch\|Ca PORTS "ID", or .*, not \'Switch four "x"\''),
    (6, '[9](12) "node one"[2](99)', r":6: expected a port from 1 to 4, not '9'"),
    (6, '[1](12) "node one"[2](99)', r":6: expected port 1 once \(it is at line 5 too\)"),
    (7, '[4] "c"[1]', r":7: expected the ID of a node of this file, not 'c'"),
    (7, "", r":11: expected the same cable at 'a # switch, \[1\]'\[4\] \(that end is missing\), not 'b\[1\]'"),
    (11, '[1] "a # switch, [1]"[3]', r":7: expected the same cable at 'b'\[1\] \(line 11 says .*\[3\]\)"),
    (9, "switchguid=0x7", r":10: expected every GUID once \(line 4 has the same\), not '0x7'"),
    (10, 'Switch 2 "a # switch, [1]"', r":10: expected every ID once"),
    (3, '[1] "b"[1]', r":3: expected a node before its ports"),
])
def test_fabric_refused(tmp_path: Path, line: int, text: str, message: str) -> None:
    """The line number and what was expected."""
    lines = FREE_TEXT.split("\n")
    lines[line - 1] = text
    path = tmp_path / "bad.net"
    path.write_text("\n".join(lines))
    with pytest.raises(RoutingError, match=message):
        read_network(path)


@pytest.mark.parametrize(("content", "message"), [
    ("", ":1: expected a node"), (b"switchguid=0x1\n\xff", ":2: expected UTF-8 text, not byte 0xff"),
])
def test_no_fabric(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "bad.net"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RoutingError, match=message):
        read_network(path)


YAML = """switches: {E0: 4, E1: 4}
terminals: {H0: [E0, 1], H1: [E1, 1]}
cables:
  - [E0, 3, E1, 3]
  - [E0, 4, E1, 4]
"""


def test_yaml(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(YAML)
    network = read_network(path)
    assert network.cables().tolist() == [[0, 3, 1, 3], [0, 4, 1, 4]]
    groups = tmp_path / "g.yaml"
    groups.write_text("groups:\n  a: [H0, E1]\n  b: [0x1000011, 0]\n")
    found = read_groups(groups, network)
    assert found.names == ("a", "b")
    assert [group.tolist() for group in found.members] == [[0, 3], [0, 1]]


@pytest.mark.parametrize(("old", "new", "message"), [
    ("E1: 4}", "E1: x}", ":1: expected a number of ports from 1 to 4096, not 'x'"),
    ("[E1, 1]", "[E1]", r":2: expected \[switch, port\], not 'a list'"),
    ("E0, 4, E1, 4", "E0, 5, E1, 4", ":5: expected a port from 1 to 4, not '5'"),
    ("E0, 3, E1, 3", "E0, 3, E2, 3", ":4: expected the name of a switch"),
    ("cables", "wires", ":3: expected switches, terminals, cables, each once, not 'wires'"),
    ("cables:", "cables: [", ":"),
])
def test_yaml_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(YAML.replace(old, new))
    with pytest.raises(RoutingError, match=message):
        read_network(path)


@pytest.mark.parametrize(("name", "text", "message"), [
    ("g.yaml", "groups: {a: [H99]}", ":1: expected a terminal or switch of"),
    ("g.yaml", "groups: {}", ":1: expected at least one group"),
    ("g.yaml", "groups: {a: [H0], b: []}", ":1: expected at least one member"),
    ("g.yaml", "groups: {a: [H0, 1, 0]}", ":1: expected each member once; H0 has the GUID"),
    ("g.yaml", "groups: {a: [0x1]}", ":1: expected the GUID of a port of"),
    ("g.yaml", "a: [H0]", ":1: expected groups: .*, each once, not 'a'"),
    ("g.dump", "MC Group 0xc001\n", ":1: expected MC Group 0xMLID : mgid"),
    ("g.dump", "mcm_port: port_gid=0x0:0x1000001 scope_state=0x21 x\n",
     ":1: expected an MC Group before its first mcm_port"),
    ("g.dump", "# nothing\n", ":2: expected MC Group"),
    ("g.dump", "hello\n", ":1: expected MC Group ... or mcm_port"),
])
def test_groups_refused(data: Path, tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(RoutingError, match=message):
        read_groups(path, read_network(data / "ft4.net"))


def test_unknown_member(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "sa.dump"
    path.write_text((data / "opensm-sa.dump").read_text().replace(":0x0000000001000011 ", ":0x0000000001000012 "))
    with pytest.raises(RoutingError, match=r"sa.dump:5: expected the GUID of a port of .*, not '0x0000000001000012'"):
        read_groups(path, read_network(data / "ft4.net"))


@pytest.mark.parametrize(("text", "message"), [
    ("0xC001 : 0x001\n", ":1: expected a switch before its entries"),
    ("Switch 0x99\n", ":1: expected the GUID of a switch"),
    ("Switch 0x2000000\n0xC001 : 0x005\n", ":2: expected ports from 0 to 4"),
    ("Switch 0x2000000\n0xB001 : 0x001\n", ":2: expected an MLID from 0xc000 to 0xffff"),
    ("Switch 0x2000000\nLID\n", ":2: expected Switch 0xGUID"),
    ("Multicast mlids [0xc000-0xc3ff] of switch x\n", ":1: expected Multicast mlids"),
])
def test_tables_refused(data: Path, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tables"
    path.write_text(text)
    with pytest.raises(RoutingError, match=message):
        read_tables(path, read_network(data / "ft4.net"))


def test_sa_dump_round_trip(data: Path, tmp_path: Path) -> None:
    """Groups that are written can be read again, and several groups of one MLID are one."""
    network = read_network(data / "ft4.net")
    groups = read_groups(data / "opensm-sa.dump", network)
    path = tmp_path / "sa.dump"
    path.write_text(sa_dump_text(network, groups))
    again = read_groups(path, network)
    assert again.mlids == groups.mlids
    assert all(np.array_equal(a, b) for a, b in zip(again.members, groups.members, strict=True))
    path.write_text(path.read_text().replace("0xc002", "0xc001"))
    assert len(read_groups(path, network)) == len(groups) - 1
