"""Where the slowest paths of a mapped design begin, in seconds and without a placement: ``python -m fpga.slow_paths``.

Place and route of the NIC core takes an hour, and names one path. This names the register or memory that each slow
path begins at, and how many paths begin there; what is slow here is slow wherever it is placed. A wire is taken to be
as long whatever it joins, so the frequency is no figure to publish: :mod:`fpga.place` measures that.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import networkx as nx
from rich.console import Console
from rich.table import Table

from firmware_models.config import load_preset
from fpga.synthesis import synthesise
from fpga.unit import export
from rtl.nic.nic import Nic

WIRE_NS = 0.85
"""A wire with few loads, in a device half full."""

_LOADED = ((12, 1.5), (4, 1.2))
"""With more loads than these a wire takes so many times as long."""

_GATES = {"LUT4": 0.23, "PFUMX": 0.2, "L6MUX21": 0.2, "CCU2C": 0.45, "TRELLIS_DPR16X4": 0.23}
"""Nanoseconds through what is no register, ECP5 of speed 8."""

_CARRY = {("CIN", "COUT"): 0.06, ("CIN", "S0"): 0.44, ("CIN", "S1"): 0.44}
"""The same along a chain of carries."""

_STARTS = {"TRELLIS_FF": 0.52, "DP16KD": 5.6, "MULT18X18D": 4.0}
"""From the clock to what a register shows, a block RAM, a multiplier."""

_FIXED = {("CCU2C", "CIN"), ("PFUMX", "ALUT"), ("PFUMX", "BLUT"), ("L6MUX21", "D0"), ("L6MUX21", "D1")}
"""Inputs that neighbours drive: no wire."""

_CELL = re.compile(r"(_(LUT4|TRELLIS_FF|CCU2C|PFUMX|L6MUX21|DP16KD)(_.*|$)|\$fanout\$\d+|\[\d+\])")
"""Endings that the tools add to a name of the design."""


@dataclass(frozen=True)
class Family:
    """Paths that begin at one register or memory.

    Members
    -------
    begin : str
        Its name.
    paths : int
        Ends that a path from there is the slowest one to, and that are slower than was asked for.
    slowest : float
        The slowest one, in ns.
    end : str
        Where that one ends.
    levels : int
        Cells on the way.
    """

    begin: str
    paths: int
    slowest: float
    end: str
    levels: int


def slow_paths(netlist: Path, *, top: str, longer_than: float, wire: float = WIRE_NS) -> list[Family]:
    """Paths of a netlist that take longer, those first of which there are most.

    Parameters
    ----------
    netlist : Path
        JSON netlist of :func:`fpga.synthesis.synthesise` for ECP5.
    top : str
        Its module.
    longer_than, wire : float
        In ns: what is slow; a wire with few loads.

    Raises
    ------
    ValueError
        If a loop has no register.
    """
    module = json.loads(netlist.read_text())["modules"][top]
    cells, names = module["cells"], _names(module)
    loads = Counter(bit for cell in cells.values() for _, bit in _bits(cell, "input"))

    def way(cell: dict[str, Any], port: str, bit: int) -> float:
        if (cell["type"], port) in _FIXED:
            return 0.0
        return wire * next((factor for most, factor in _LOADED if loads[bit] > most), 1.0)

    graph: nx.DiGraph[int] = nx.DiGraph()
    begins: dict[int, float] = {}
    ends: list[tuple[str, int, float]] = []
    for name, cell in cells.items():
        kind = cell["type"]
        passes = {port for port, _ in _bits(cell, "input") if kind in _GATES and not _writes(kind, port)}
        for port, bit in _bits(cell, "output"):
            graph.add_node(bit)
            if kind not in _GATES:
                begins[bit] = _STARTS.get(kind, 0.0)
                continue
            for source, driven in _bits(cell, "input"):
                if source in passes:
                    delay = way(cell, source, driven) + _CARRY.get((source, port), _GATES[kind])
                    if delay > graph.get_edge_data(driven, bit, {"delay": -1})["delay"]:
                        graph.add_edge(driven, bit, delay=delay)
        ends += [
            (name, bit, way(cell, port, bit)) for port, bit in _bits(cell, "input")
            if port not in passes and "CLK" not in port and port != "WCK"
        ]
    if not nx.is_directed_acyclic_graph(graph):
        raise ValueError("a loop of the netlist has no register")

    arrives: dict[int, tuple[float, int, int]] = {}
    for bit in nx.topological_sort(graph):
        ways = [
            (arrives[before][0] + edge["delay"], arrives[before][1], arrives[before][2] + 1)
            for before, _, edge in graph.in_edges(bit, data=True)
        ]
        arrives[bit] = max(ways, default=(begins.get(bit, 0.0), bit, 0))
    families: dict[str, list[tuple[float, str, int]]] = {}
    for name, bit, last in ends:
        time, begin, levels = arrives.get(bit, (0.0, bit, 0))
        if time + last > longer_than:
            families.setdefault(names.get(begin, "?"), []).append((time + last, _CELL.sub("", name), levels))
    found = [Family(begin, len(paths), *max(paths)) for begin, paths in families.items()]
    return sorted(found, key=lambda family: (-family.paths, -family.slowest, family.begin))


def _bits(cell: dict[str, Any], direction: str) -> Iterator[tuple[str, int]]:
    """Ports of a cell that are no constant."""
    for port, bits in cell["connections"].items():
        if cell["port_directions"][port] == direction:
            yield from ((port, bit) for bit in bits if isinstance(bit, int))


def _writes(kind: str, port: str) -> bool:
    """An input of distributed RAM that ends a path: what is written, and where."""
    return kind == "TRELLIS_DPR16X4" and not port.startswith("RAD")


def _names(module: dict[str, Any]) -> dict[int, str]:
    """The shortest name of each bit, without what the tools have added."""
    names: dict[int, str] = {}
    for name, net in sorted(module["netnames"].items(), key=lambda item: (len(item[0]), item[0])):
        for bit in net["bits"]:
            if isinstance(bit, int):
                names.setdefault(bit, _CELL.sub("", name))
    return names


def main(arguments: list[str]) -> None:
    """Maps the NIC core of a preset, which takes some ten minutes, and shows where its slowest paths begin."""
    parser = argparse.ArgumentParser(prog="python -m fpga.slow_paths", description=main.__doc__)
    parser.add_argument("--longer-than", type=float, default=9.0, metavar="NS", help="what is slow")
    looked_at = parser.add_mutually_exclusive_group()
    looked_at.add_argument("--preset", default="ecpix5_85f", help="whose NIC is looked at")
    looked_at.add_argument("--netlist", type=Path, help="a mapped netlist, top `unit`, in place of the preset's")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        netlist = options.netlist or Path(folder, "core.json")
        if options.netlist is None:
            synthesise(export(Nic(load_preset(options.preset))), top="unit", keep=netlist)
        found = slow_paths(netlist, top="unit", longer_than=options.longer_than)
    table = Table("begins at", "paths", "slowest, ns", "cells", "ends at", title=f"{sum(f.paths for f in found)} paths")
    for family in found:
        table.add_row(family.begin, f"{family.paths}", f"{family.slowest:.2f}", f"{family.levels}", family.end)
    Console(width=150).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
