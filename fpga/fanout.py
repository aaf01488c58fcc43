"""Nets with many loads, split: each gets several drivers that are alike, with a share of the loads each.

Yosys gives one driver to the enable of a register, however wide that is, and nextpnr neither copies drivers nor adds
buffers: in a large design the slowest wires are those that go everywhere. A copy can lie where its loads lie.
"""

import json
import re
from collections import defaultdict
from itertools import count
from math import ceil
from pathlib import Path
from typing import Any

LEAST = 8
"""The least limit: a copy takes loads from one driver, and is itself a load of up to five others."""

_OUTPUTS = {"LUT4": "Z", "TRELLIS_FF": "Q"}
"""Cells that are copied, and their outputs. Other cells share wires with neighbours."""

_WHOLE = ("LSR", "RAD", "WAD", "WRE")
"""Inputs whose nets stay whole: resets, and addresses and enables of tables that are memory. Every slice in a tile full
of those is a load, and there are not wires enough for several nets in place of one."""

Load = tuple[str, str, int]
"""Cell, port, bit of the port."""


def split(netlist: Path, *, top: str, max_fanout: int) -> int:
    """Copies look-up tables and registers that have too many loads, in the netlist itself.

    Loads are shared out in the order of their names, so the bits of a register stay together. A copy is one load more
    of what drives it; so this goes on until no net is too wide.

    Parameters
    ----------
    netlist : Path
        JSON netlist of :func:`fpga.synthesis.synthesise` for ECP5.
    top : str
        Its module.
    max_fanout : int
        The most loads of a driver; inputs of :data:`_WHOLE` do not count.

    Returns
    -------
    int
        How many copies have been added.

    Raises
    ------
    ValueError
        If `max_fanout` is less than :data:`LEAST`.
    """
    if max_fanout < LEAST:
        raise ValueError(f"max_fanout must be {LEAST} or more, not {max_fanout}")
    design = json.loads(netlist.read_text())
    module = design["modules"][top]
    cells, names = module["cells"], module["netnames"]
    before = len(cells)
    bits = count(1 + max(bit for name in names.values() for bit in name["bits"] if isinstance(bit, int)))
    while wide := _wide_nets(cells, max_fanout):
        for driver, loads in wide:
            drivers = ceil(len(loads) / max_fanout)
            share = ceil(len(loads) / drivers)
            for begin in range(share, len(loads), share):
                bit = next(bits)
                copy = f"{driver}$fanout${bit}"
                cells[copy] = _copy(cells[driver], bit)
                names[copy] = {"hide_name": 1, "bits": [bit], "attributes": {}}
                for name, port, index in loads[begin:begin + share]:
                    cells[name]["connections"][port][index] = bit
    netlist.write_text(json.dumps(design))
    return len(cells) - before


def _copy(cell: dict[str, Any], bit: int) -> dict[str, Any]:
    """The same cell, driving another net."""
    connections = {port: list(bits) for port, bits in cell["connections"].items()}
    return {**cell, "connections": {**connections, _OUTPUTS[cell["type"]]: [bit]}}


def _wide_nets(cells: dict[str, Any], max_fanout: int) -> list[tuple[str, list[Load]]]:
    """Drivers with too many loads, and these in order."""
    drivers: dict[int, str] = {}
    loads: dict[int, list[Load]] = defaultdict(list)
    for name, cell in cells.items():
        for port, bits in cell["connections"].items():
            if port == _OUTPUTS.get(cell["type"]):
                drivers[bits[0]] = name
            elif port not in _WHOLE and cell["port_directions"][port] == "input":
                for index, bit in enumerate(bits):
                    loads[bit].append((name, port, index))
    return [
        (driver, sorted(loads[bit], key=_natural))
        for bit, driver in drivers.items() if len(loads[bit]) > max_fanout
    ]


def _natural(load: Load) -> tuple[list[str], list[int], str, int]:
    """Orders loads by the numbers in their names: bit 10 of a register comes behind bit 9."""
    name, port, index = load
    return re.split(r"\d+", name), [int(number) for number in re.findall(r"\d+", name)], port, index
