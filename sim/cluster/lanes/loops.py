"""Loops between values that are none between bits: a value is cut where its parts follow different things."""

from collections.abc import Iterator
from itertools import pairwise

import networkx as nx

from sim.cluster.lanes.netlist import SOURCES, Netlist, NetlistError, Value

_BITWISE = frozenset({"and", "or", "xor", "not", "mux", "choose", "alias"})
"""Operations of which a bit of the output follows the same bit of their values, and can be cut."""


def without_loops(netlist: Netlist) -> None:
    """Cuts values, in place, until no cell follows itself within a cycle: first where assignments begin and end, then
    bit by bit.

    Raises
    ------
    NetlistError
        If a bit follows itself; it names the modules on the way.
    """
    for bit_by_bit in (False, True):
        loops = list(_loops(netlist))
        if not loops:
            return
        moved: dict[int, int] = {}
        for number in sorted(set().union(*loops)):
            cell = netlist.cells[number]
            if cell.op in _BITWISE and cell.width > 1:
                _cut(netlist, number, bit_by_bit, moved)
        _move(netlist, moved)
    for loop in _loops(netlist):
        where = sorted({".".join(netlist.modules[netlist.cells[number].module]) or "top" for number in loop})
        raise NetlistError(f"a loop through {len(loop)} operations in {', '.join(where)}: a value follows itself")


def _loops(netlist: Netlist) -> Iterator[set[int]]:
    graph: nx.DiGraph[int] = nx.DiGraph()
    cells = netlist.cells
    for number, cell in enumerate(cells):
        if cell.op in SOURCES:
            continue
        for before in {net >> 16 for value in cell.args for net in value}:
            if before and cells[before].op not in SOURCES:
                graph.add_edge(before, number)
    for found in nx.strongly_connected_components(graph):
        if len(found) > 1 or graph.has_edge(*(tuple(found) * 2)):
            yield found


def _cut(netlist: Netlist, number: int, bit_by_bit: bool, moved: dict[int, int]) -> None:
    cell = netlist.cells[number]
    ends = {0, cell.width}
    if bit_by_bit:
        ends |= set(range(cell.width))
    elif cell.op == "choose":
        for start, value in zip(cell.param, cell.args[2::2], strict=True):
            ends |= {start, start + len(value)}
    else:  # where one of the arguments comes from another cell
        for value in cell.args[cell.op == "mux":]:
            ends |= {bit for bit in range(1, cell.width) if value[bit] >> 16 != value[bit - 1] >> 16}
    limits = sorted(ends)
    for first, last in pairwise(limits):
        args, param = _between(cell.op, cell.args, cell.param, first, last)
        for bit, net in enumerate(netlist.add(cell.op, last - first, args, cell.module, param)):
            moved[number << 16 | first + bit] = net
    cell.op, cell.width, cell.args = "none", 0, ()


def _between(
    op: str, args: tuple[Value, ...], param: object, first: int, last: int
) -> tuple[tuple[Value, ...], object]:
    """Arguments of the part of an operation that gives bits `first` to before `last`."""
    if op == "mux":
        return (args[0], args[1][first:last], args[2][first:last]), param
    if op != "choose":
        return tuple(value[first:last] for value in args), param
    cut, starts = [args[0][first:last]], []
    assert isinstance(param, tuple)
    for start, condition, value in zip(param, args[1::2], args[2::2], strict=True):
        low, high = max(start, first), min(start + len(value), last)
        if low < high:
            cut += [condition, value[low - start:high - start]]
            starts.append(low - first)
    return tuple(cut), tuple(starts)


def _move(netlist: Netlist, moved: dict[int, int]) -> None:
    for cell in netlist.cells:
        if any(net in moved for value in cell.args for net in value):
            cell.args = tuple(tuple(moved.get(net, net) for net in value) for value in cell.args)
    for bits in netlist.names.values():
        for bit, net in bits.items():
            bits[bit] = moved.get(net, net)
