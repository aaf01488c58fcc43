"""OpenSM's SA dump (`opensm-sa.dump`): which ports have joined which multicast groups."""

import re
from pathlib import Path

from firmware_models.routing.formats.lines import refuse
from firmware_models.routing.network import FIRST_MLID, MAX_MLIDS, Groups, Network

_GROUP = re.compile(
    r"MC Group 0x([0-9a-fA-F]{1,4})\s*(.*?)\s*:\s*mgid=0x([0-9a-fA-F]{1,16}):0x([0-9a-fA-F]{1,16})\s"
    r".*?mlid=0x([0-9a-fA-F]{1,4})\b.*")
_MEMBER = re.compile(r"mcm_port: port_gid=0x([0-9a-fA-F]{1,16}):0x([0-9a-fA-F]{1,16})\s.*")


def parse_sa_dump(path: Path, text: str, network: Network) -> Groups:
    """The groups in `text`: one an MLID, as OpenSM routes them, in the order in which they come first.

    Raises
    ------
    RoutingError
        If it is malformed, or a port is not in the network: the line number and what was expected.
    """
    members: dict[int, list[int]] = {}
    current: int | None = None
    for line, raw in enumerate(text.splitlines(), 1):
        content = raw.strip()
        if not content or content.startswith("#"):
            continue
        if content.startswith("MC Group"):
            match = _GROUP.fullmatch(content)
            if match is None:
                refuse(path, line, "MC Group 0xMLID : mgid=0xPREFIX:0xID port_gid=... mlid=0xMLID ...", content)
            current = int(match[1], 16)
            if not FIRST_MLID <= current < FIRST_MLID + MAX_MLIDS - 1:
                refuse(path, line, f"an MLID from {FIRST_MLID:#x} to {FIRST_MLID + MAX_MLIDS - 2:#x}", f"0x{match[1]}")
            members.setdefault(current, [])
        elif content.startswith("mcm_port"):
            match = _MEMBER.fullmatch(content)
            if match is None:
                refuse(path, line, "mcm_port: port_gid=0xPREFIX:0xGUID scope_state=... proxy_join=...", content)
            if current is None:
                refuse(path, line, "an MC Group before its first mcm_port", content)
            endpoint = network.endpoint_of_guid.get(int(match[2], 16))
            if endpoint is None:
                refuse(path, line, f"the GUID of a port of {network.name!r}", f"0x{match[2]}")
            members[current].append(endpoint)
        elif re.match(r"(Service Record|InformInfo Record|IB Notice|Inform)\b", content):
            current = None
        else:
            refuse(path, line, "MC Group ... or mcm_port: ...", content)
    if not members:
        refuse(path, text.count("\n") + 1, "MC Group ...", "end of file")
    return Groups.of(members.values(), names=[f"{mlid:#06x}" for mlid in members], mlids=list(members))


def sa_dump_text(network: Network, groups: Groups) -> str:
    """The groups as OpenSM would dump them: so that it can route them too, for comparison."""
    guids = network.port_guids.tolist() + network.switch_guids.tolist()
    lines = []
    for number, members in enumerate(groups.members):
        mlid = FIRST_MLID + 1 + number if groups.mlids is None else groups.mlids[number]
        lines.append(
            f"MC Group {mlid:#06x} : mgid=0xff12a01c00000000:0x{0x1000 + number:016x} port_gid=0x{0:016x}:0x{0:016x} "
            f"qkey=0x00000b1b mlid={mlid:#06x} mtu=0x84 tclass=0x00 pkey=0xffff rate=0x83 pkt_life=0x92 "
            f"sl_flow_hop=0x00000000 scope_state=0x21 proxy_join=0x0\n")
        lines += [f"mcm_port: port_gid=0xfe80000000000000:0x{guids[member]:016x} scope_state=0x21 proxy_join=0x0\n"
                  for member in members.tolist()]
    return "\n".join(lines) + "\n"
