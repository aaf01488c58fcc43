"""Fabrics of several planes are routed plane by plane; names that several ports have are refused with their GUIDs."""

from pathlib import Path

import numpy as np
import pytest

from firmware_models.routing.algorithm import ALGORITHMS, Options, Router, route_planes
from firmware_models.routing.formats import read_groups
from firmware_models.routing.formats.fabric_read import parse_fabric, read_network
from firmware_models.routing.network import Groups, Network, RoutingError
from firmware_models.routing.network.plane import planes_of
from firmware_models.routing.topology import parse_topology


def beside(*networks: Network) -> Network:
    """Several networks as one fabric; GUIDs and names are made anew."""
    cables, leaf, leaf_port, radixes = [], [], [], []
    for network in networks:
        own = network.cables()
        own[:, [0, 2]] += len(radixes)
        cables += own.tolist()
        leaf += (network.leaf + len(radixes)).tolist()
        leaf_port += network.leaf_port.tolist()
        radixes += network.radixes.tolist()
    return Network.wire(name="beside", radixes=radixes, cables=cables, leaf=leaf, leaf_port=leaf_port)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("names", [
    ("fat-tree:4", "fat-tree:4"), ("fat-tree:4", "torus:2x3x2:1", "star:5"), ("star:3", "torus:3x3x2:1"),
])
def test_each_plane_is_routed_as_if_alone(names: tuple[str, ...], algorithm: str) -> None:
    parts = [parse_topology(name) for name in names]
    options = Options(algorithm=algorithm, mft_size=8 if algorithm == "mr4lms" else None)
    numbers = np.random.default_rng(5)
    members = [[sorted(numbers.choice(part.n_terminals, 3, replace=False).tolist()) for _ in range(9)]
               for part in parts]
    first = np.cumsum([0, *(part.n_terminals for part in parts)])
    mixed = [[t + first[which] for t in members[which][k]] for k in range(9) for which in range(len(parts))]
    whole = beside(*parts)
    routed = route_planes(whole, options, Groups.of(mixed))
    assert routed.n_planes == len(parts)
    assert routed.violations == []
    tables, switch = routed.tables(), 0
    for which, part in enumerate(parts):
        alone = Router(part, options)
        for k, group in enumerate(members[which]):
            alone.join(str(k), group)
        expected = alone.forest.tables()
        own = (tables.switch >= switch) & (tables.switch < switch + part.n_switches)
        assert (tables.switch[own] - switch).tolist() == expected.switch.tolist()
        assert tables.colour[own].tolist() == expected.colour.tolist()
        assert (tables.ports[own][:, :expected.ports.shape[1]] == expected.ports).all()
        switch += part.n_switches
    assert routed.figures()["groups"] == len(mixed)


def test_a_spare_switch_is_a_plane() -> None:
    fabric = Network.wire(name="spare", radixes=[4, 4], cables=[], leaf=[0, 0], leaf_port=[1, 2])
    routed = route_planes(fabric, Options(), Groups.of([[0, 1]]))
    assert (routed.n_planes, routed.violations, len(routed.tables())) == (2, [], 1)
    assert len(planes_of(fabric)) == 2


@pytest.mark.parametrize(("members", "said"), [
    ([[0, 3]], "beside: group '0' must have its members in one plane: no cables join 'H0' and 'H3'"),
    ([[0, 1], [1, 2, 4]], "beside: group '1' must have its members in one plane: no cables join 'H1' and 'H4'"),
])
def test_a_group_of_two_planes_is_refused(members: list[list[int]], said: str) -> None:
    with pytest.raises(RoutingError, match=f"^{said}$"):
        route_planes(beside(parse_topology("star:3"), parse_topology("star:3")), Options(), Groups.of(members))


def test_states_and_single_routers_want_one_plane(tmp_path: Path) -> None:
    whole = beside(parse_topology("star:3"), parse_topology("star:3"))
    with pytest.raises(RoutingError, match=r"^--save-state must have a connected network: beside has 2 planes$"):
        route_planes(whole, Options(), Groups.of([[0, 1]]), keep=tmp_path / "x")
    with pytest.raises(RoutingError, match=r"^beside: must be connected, .*: switches 'S0' and 'S1' are$"):
        Router(whole)


FABRIC = """\
switchguid=0x200
Switch 8 "S-1"  # "leaf"
[1] "H-a"[1](a01)
[2] "H-b"[1](b01)
[3] "S-2"[3]
[4] "H-c"[1](c01)
[5] "H-c"[2](c02)

switchguid=0x300
Switch 8 "S-2"  # "SWITCH"
[1] "H-d"[1](d01)
[3] "S-1"[3]

caguid=0xa00
Ca 1 "H-a"  # "A"
[1](a01) "S-1"[1]

caguid=0xb00
Ca 1 "H-b"  # "B"
[1](b01) "S-1"[2]

caguid=0xc00
Ca 2 "H-c"  # "C"
[1](c01) "S-1"[4]
[2](c02) "S-1"[5]

caguid=0xd00
Ca 1 "H-d"  # "D"
[1](d01) "S-2"[1]
"""


@pytest.mark.parametrize(("renamed", "member", "said"), [
    ({"A": "node", "B": "node", "D": "node"}, "node", "3 terminals (0xa01, 0xb01, 0xd01) are called 'node'"),
    ({"SWITCH": "leaf"}, "leaf", "2 switches (0x200, 0x300) are called 'leaf'"),
    ({"A": "leaf"}, "leaf", "2 terminals and switches (0xa01, 0x200) are called 'leaf'"),
    ({"A": "C/1"}, "C/1", "2 terminals (0xa01, 0xc01) are called 'C/1'"),
    ({"A": "3", "B": "3"}, "3", "2 terminals (0xa01, 0xb01) are called '3'"),
])
def test_names_that_several_have(renamed: dict[str, str], member: str, said: str, tmp_path: Path) -> None:
    text = FABRIC
    for old, new in renamed.items():
        text = text.replace(f'# "{old}"', f'# "{new}"')
    network, groups = parse_fabric(Path("fabric"), text), tmp_path / "groups.yaml"
    groups.write_text(f'groups:\n  g: ["{member}", C/2]\n')
    with pytest.raises(RoutingError) as refusal:
        read_groups(groups, network)
    assert str(refusal.value) == f"{groups}:2: {said}; give a GUID"
    guid = said[said.index("0x"):].split(",")[0]
    groups.write_text(f"groups:\n  g: [{guid}, C/2]\n")
    assert len(read_groups(groups, network).members[0]) == 2


@pytest.mark.parametrize(("old", "new", "line"), [("(b01)", "(a01)", 20), ("[1](c01) ", "[1](0x200) ", 24)])
def test_a_port_guid_stands_once(old: str, new: str, line: int, tmp_path: Path) -> None:
    path = tmp_path / "twins.txt"
    path.write_text(FABRIC.replace(old, new))
    with pytest.raises(RoutingError, match=rf"\.txt:{line}: expected every port GUID once \(line \d+ has the same\)"):
        read_network(path)
