"""Reads groups: OpenSM's SA dump, or YAML.

::

    groups:
      row-0: [H0, H1, H2]        # names of terminals or switches, if nothing else in the fabric has the name,
      row-1: [0x1000031, 4]      # port GUIDs, or numbers of terminals
"""

import re
from pathlib import Path

from firmware_models.routing.formats.lines import read_text
from firmware_models.routing.formats.sa_dump import parse_sa_dump
from firmware_models.routing.formats.yaml_node import YamlNode, parse_yaml
from firmware_models.routing.network import Groups, Network, RoutingError


def read_groups(path: Path, network: Network) -> Groups:
    """The groups of a file; a name that ends in ``.yaml`` or ``.yml`` is YAML, any other an SA dump.

    Raises
    ------
    RoutingError
        If it is malformed, or a member is not in the network: the line number and what was expected.
    """
    text = read_text(path)
    is_yaml = path.suffix in (".yaml", ".yml")
    return (parse_yaml_groups if is_yaml else parse_sa_dump)(path, text, network)


def parse_yaml_groups(path: Path, text: str, network: Network) -> Groups:
    """The groups in YAML: a mapping from names to members, or a list of lists of members."""
    root = parse_yaml(path, text)
    form = "groups: {NAME: [MEMBER, ...]}"
    found = dict(root.mapping(form, allowed=("groups",)))
    if "groups" not in found:
        root.refuse(form)
    names = _names(network)
    pairs = list(found["groups"].mapping(form)) if found["groups"].is_mapping else \
        [(str(number), item) for number, item in enumerate(found["groups"].sequence(form))]
    if not pairs:
        found["groups"].refuse("at least one group")
    members = [_members(group, network, names) for _, group in pairs]
    return Groups.of(members, names=[name for name, _ in pairs])


def _members(group: YamlNode, network: Network, names: dict[str, list[int]]) -> list[int]:
    found: dict[int, None] = {}
    for node in group.sequence("a list of members"):
        endpoint = _endpoint(node, network, names)
        if endpoint in found:
            node.refuse(f"each member once; {network.label(endpoint)} has the GUID {network.guid(endpoint):#x}")
        found[endpoint] = None
    if not found:
        group.refuse("at least one member")
    return list(found)


def _endpoint(node: YamlNode, network: Network, names: dict[str, list[int]]) -> int:
    text = node.text("a member: a name, a port GUID as 0xHEX, or the number of a terminal")
    if text in names:
        called = names[text]
        if len(called) > 1:
            raise RoutingError(f"{node.place}: {_listed(called, network)} are called {text!r}; give a GUID")
        return called[0]
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text):
        endpoint = network.endpoint_of_guid.get(int(text, 16))
        if endpoint is None:
            node.refuse(f"the GUID of a port of {network.name!r}")
        return endpoint
    if text.isascii() and text.isdecimal():
        return node.number(f"the number of a terminal from 0 to {network.n_terminals - 1}", 0, network.n_terminals - 1)
    return node.refuse(f"a terminal or switch of {network.name!r}: a name, a port GUID as 0xHEX, or a number")


def _names(network: Network) -> dict[str, list[int]]:
    """The endpoints of every name: tools call hosts and switches by free text, which need not be unique."""
    names: dict[str, list[int]] = {}
    for endpoint in range(network.n_terminals + network.n_switches):
        names.setdefault(network.label(endpoint), []).append(endpoint)
    return names


def _listed(endpoints: list[int], network: Network) -> str:
    """How many endpoints of a name there are, and the GUIDs of at most eight."""
    is_switch = {endpoint >= network.n_terminals for endpoint in endpoints}
    kind = "terminals and switches" if len(is_switch) == 2 else "switches" if True in is_switch else "terminals"
    shown = [f"{network.guid(endpoint):#x}" for endpoint in endpoints[:8]]
    return f"{len(endpoints)} {kind} ({', '.join(shown)}{', ...' if len(endpoints) > 8 else ''})"
