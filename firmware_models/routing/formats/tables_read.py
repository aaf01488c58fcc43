"""Reads forwarding tables: OpenSM's `opensm.mcfdbs`, or what ``dump_fts -M`` prints."""

import re
from pathlib import Path

import numpy as np

from firmware_models.routing.formats.lines import read_text, refuse
from firmware_models.routing.network import FIRST_MLID, MAX_MLIDS, ForwardingTables, Network, port_words

_SWITCH = re.compile(r"Switch 0x([0-9a-fA-F]{1,16})")
_ENTRY = re.compile(r"0x([0-9a-fA-F]{4})\s*:((?:\s*0x[0-9a-fA-F]{1,4}\b)+)")
_HEADING = re.compile(r"LID\s*: Out Port\(s\)")
_FTS_SWITCH = re.compile(
    r"Multicast mlids \[0x[0-9a-fA-F]+-0x[0-9a-fA-F]+\] of switch .*\bguid 0x([0-9a-fA-F]{1,16}) \(.*\):")
_FTS_ENTRY = re.compile(r"0x([0-9a-fA-F]{4}) {6}([x ]*)")
_FTS_OTHER = re.compile(r" *Ports:[ 0-9]*| *MLid *|[ 0-9]+|[0-9]+ (valid )?mlids dumped ?")


def read_tables(path: Path, network: Network) -> ForwardingTables:
    """The tables of a file, which of the two it is shown by its first line.

    Raises
    ------
    RoutingError
        If it is malformed, or a switch or port is not in the network: the line number and what was expected.
    """
    text = read_text(path)
    is_dump_fts = text.lstrip().startswith("Multicast mlids")
    switch_of = {guid: s for s, guid in enumerate(network.switch_guids.tolist())}
    n_words = int(max(network.radixes)) // 64 + 1
    rows: list[tuple[int, int, list[int]]] = []
    current: int | None = None
    for line, raw in enumerate(text.splitlines(), 1):
        content = raw.rstrip()
        if match := (_FTS_SWITCH if is_dump_fts else _SWITCH).fullmatch(content):
            current = switch_of.get(int(match[1], 16))
            if current is None:
                refuse(path, line, f"the GUID of a switch of {network.name!r}", f"0x{match[1]}")
        elif match := (_FTS_ENTRY if is_dump_fts else _ENTRY).fullmatch(content):
            if current is None:
                refuse(path, line, "a switch before its entries", content)
            # dump_fts -M: two characters a port, an x where the port is set.
            ports = [place // 2 for place, mark in enumerate(match[2]) if mark == "x"] if is_dump_fts else \
                [int(port, 16) for port in match[2].split()]
            colour, radix = int(match[1], 16) - FIRST_MLID, int(network.radixes[current])
            if not 0 <= colour < MAX_MLIDS:
                refuse(path, line, f"an MLID from {FIRST_MLID:#x} to 0xffff", f"0x{match[1]}")
            if not ports or max(ports) > radix:
                refuse(path, line, f"ports from 0 to {radix}", content)
            rows.append((current, colour, port_words(ports, n_words)))
        elif content.strip() and not (_FTS_OTHER if is_dump_fts else _HEADING).fullmatch(content):
            form = "Multicast mlids ... guid 0xGUID (NAME):, or 0xMLID and its ports" if is_dump_fts else \
                "Switch 0xGUID, LID    : Out Port(s), or 0xMLID : 0xPORT ..."
            refuse(path, line, form, content)
    ports_array = np.array([row[2] for row in rows], dtype=np.uint64).reshape(len(rows), n_words)
    return ForwardingTables.of([row[0] for row in rows], [row[1] for row in rows], ports_array)
