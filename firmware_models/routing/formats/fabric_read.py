"""Reads a fabric: `ibnetdiscover` output, `.net` files of ibsim, YAML.

The first two are one grammar. A GUID line applies to the next node; a node is ``Switch|Ca|Hca|Rt PORTS "ID"`` and then
a line a cabled port, ``[port](port GUID) "remote ID"[remote port]``; a blank line ends it. Every cable is there twice.
IDs are free text, ``#`` begins a comment, and the first quoted text in the comment of a node is what the node is
called.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from firmware_models.routing.formats.fabric_yaml import parse_yaml_fabric
from firmware_models.routing.formats.lines import read_text, refuse
from firmware_models.routing.network import Network

_GUID = re.compile(
    r"(switch|ca|hca|rt|node|sysimg|port)guid\s*=\s*(?:0x)?([0-9a-fA-F]{1,16})\s*(?:\((?:0x)?([0-9a-fA-F]{1,16})\))?")
_OTHER = re.compile(r"(vendid|devid)\s*=\s*\S+|(Non-)?Chassis\b.*|module\s*=.*")
_NODE = re.compile(r'(Switch|Ca|Hca|Rt)\s+([0-9]{1,5})\s+"([^"]*)"')
_PORT = re.compile(
    r'\[([0-9]{1,5})\]\s*(?:\((?:0x)?([0-9a-fA-F]{1,16})\))?\s*"([^"]*)"\s*\[([0-9]{1,5})\]\s*(?:\((?:0x)?([0-9a-fA-F]{1,16})\))?')
_QUOTED = re.compile(r'"([^"]*)"')
_DEFAULT_GUIDS = {True: 0x200000, False: 0x100000}
"""Where GUIDs begin for nodes that a file gives none, as in ibsim."""


@dataclass
class _Node:
    """A node as the file has it."""

    is_switch: bool
    n_ports: int
    id: str
    name: str
    guid: int
    line: int
    ports: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    port_guids: dict[int, int] = field(default_factory=dict)


def read_network(path: Path) -> Network:
    """The fabric of a file; a name that ends in ``.yaml`` or ``.yml`` is YAML.

    Raises
    ------
    RoutingError
        If the file is malformed: the line number and what was expected.
    """
    if path.suffix in (".yaml", ".yml"):
        return parse_yaml_fabric(path, read_text(path))
    return parse_fabric(path, read_text(path))


def parse_fabric(path: Path, text: str) -> Network:
    """The fabric in `text`; `path` is what errors and the network are named by."""
    nodes = _nodes(path, text)
    index: dict[str, tuple[int, _Node]] = {}
    counts = {True: 0, False: 0}
    for node in nodes:
        if node.id in index:
            refuse(path, node.line, f"every ID once ({node.id!r} is at line {index[node.id][1].line} too)", node.id)
        index[node.id] = (counts[node.is_switch], node)
        counts[node.is_switch] += 1
    cables, attached, lines = [], [], []
    for node in nodes:
        number = index[node.id][0]
        for port, (remote_id, remote_port, line) in node.ports.items():
            if remote_id not in index:
                refuse(path, line, "the ID of a node of this file", remote_id)
            far, remote = index[remote_id]
            back = remote.ports.get(remote_port)
            if back is None or back[:2] != (node.id, port):
                there = f"line {back[2]} says {back[0]!r}[{back[1]}]" if back else "that end is missing"
                refuse(path, line, f"the same cable at {remote_id!r}[{remote_port}] ({there})", f"{node.id}[{port}]")
            if node.is_switch and remote.is_switch:
                if (number, port) < (far, remote_port):
                    cables.append((number, port, far, remote_port))
                elif (number, port) == (far, remote_port):
                    refuse(path, line, "a cable with two ends", f"{node.id}[{port}]")
            elif not node.is_switch:
                if not remote.is_switch:
                    refuse(path, line, "a switch at the other end of a terminal's cable", remote_id)
                guid = node.port_guids.get(port) or remote.port_guids.get(-remote_port) or node.guid + port
                name = node.name if len(node.ports) == 1 else f"{node.name}/{port}"
                attached.append((far, remote_port, port, node.guid, guid, name))
                lines.append(line)
    switches = [node for node in nodes if node.is_switch]
    if not switches:
        refuse(path, text.count("\n") + 1, 'a node, as in: Switch 4 "S-0000000002000000"', "end of file")
    _unique_guids(path, nodes)
    owners = {node.guid: node.line for node in switches}
    for (*_, guid, _), line in zip(attached, lines, strict=True):
        if guid in owners:
            refuse(path, line, f"every port GUID once (line {owners[guid]} has the same)", f"{guid:#x}")
        owners[guid] = line
    return Network.wire(
        name=str(path), radixes=[node.n_ports for node in switches], cables=cables,
        leaf=[row[0] for row in attached], leaf_port=[row[1] for row in attached],
        terminal_port=np.array([row[2] for row in attached], dtype=np.int32),
        switch_guids=np.array([node.guid for node in switches], dtype=np.uint64),
        node_guids=np.array([row[3] for row in attached], dtype=np.uint64),
        port_guids=np.array([row[4] for row in attached], dtype=np.uint64),
        switch_names=[node.name for node in switches], terminal_names=[row[5] for row in attached],
    )


def _nodes(path: Path, text: str) -> list[_Node]:
    """All nodes in the order of the file."""
    nodes: list[_Node] = []
    current: _Node | None = None
    guid: int | None = None
    for line, raw in enumerate(text.splitlines(), 1):
        content, comment = _without_comment(raw)
        if not content:
            if not raw.strip():
                current = None
            continue
        if match := _GUID.fullmatch(content):
            if match[1] not in ("sysimg", "port"):
                guid = int(match[2], 16)
            current = None
        elif _OTHER.fullmatch(content):
            current = None
        elif match := _NODE.fullmatch(content):
            is_switch = match[1] == "Switch"
            if guid is None:
                guid = _DEFAULT_GUIDS[is_switch] + 0x100 * len(nodes)
            called = _QUOTED.search(comment)
            current = _Node(is_switch, int(match[2]), match[3], called[1] if called else match[3], guid, line)
            if not 1 <= current.n_ports <= 4096:
                refuse(path, line, "1 to 4096 ports", match[2])
            nodes.append(current)
            guid = None
        elif match := _PORT.fullmatch(content):
            if current is None:
                refuse(path, line, 'a node before its ports, as in: Switch 4 "S-0000000002000000"', content)
            port = int(match[1])
            if not 1 <= port <= current.n_ports:
                refuse(path, line, f"a port from 1 to {current.n_ports}", match[1])
            if port in current.ports:
                refuse(path, line, f"port {port} once (it is at line {current.ports[port][2]} too)", content)
            current.ports[port] = (match[3], int(match[4]), line)
            if match[2]:
                current.port_guids[port] = int(match[2], 16)
            if match[5]:
                current.port_guids[-port] = int(match[5], 16)
        else:
            refuse(path, line, 'KEYguid=0xHEX, Switch|Ca PORTS "ID", or [PORT](GUID) "ID"[PORT]', content)
    return nodes


def _without_comment(raw: str) -> tuple[str, str]:
    """A line without its comment, and the comment; a ``#`` in quotes begins none."""
    quoted = False
    for place, character in enumerate(raw):
        if character == '"':
            quoted = not quoted
        elif character == "#" and not quoted:
            return raw[:place].strip(), raw[place + 1:]
    return raw.strip(), ""


def _unique_guids(path: Path, nodes: list[_Node]) -> None:
    seen: dict[int, _Node] = {}
    for node in nodes:
        if node.guid in seen:
            refuse(path, node.line, f"every GUID once (line {seen[node.guid].line} has the same)", f"{node.guid:#x}")
        seen[node.guid] = node
