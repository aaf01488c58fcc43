"""Divides netlists into parts, each evaluated as a whole or not at all, in an order in which none needs a later one.

Cells of a module, with those of small modules within, are a *group*. The *stage* of a cell counts how often the longest
way to it, from registers, goes from one group into another. A part is what a group has in a stage. Cells of a part
follow cells of earlier stages, or of their own part: so parts of one stage do not need each other, and stages are
evaluated one after the other. Whatever the groups are, there is no circle among parts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sim.cluster.lanes.netlist import SINKS, SOURCES, Cell, Netlist, NetlistError, Value

LEAST_CELLS = 10
"""Cells of a part, if its group and stage have so many."""
MOST_STAGES = 400
"""So many are not reached but by a loop through several modules."""


@dataclass(slots=True)
class Part:
    """Cells that are evaluated together: numbers of operations and sinks in order, and registers whose next value they
    give.
    """

    name: str
    stage: int
    cells: list[int] = field(default_factory=list)
    registers: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Division:
    """A netlist's parts, those of early stages first.

    Members
    -------
    parts : list of Part
        All of them.
    part_of : dict of int to int
        Part of each cell: for a register the one that has its next value; none for other sources.
    readers : dict of int to set of int
        For each source, and each cell that other parts look at, the parts that do.
    memory_readers : dict of int to set of int
        For each memory, the parts that have its ports.
    """

    parts: list[Part]
    part_of: dict[int, int]
    readers: dict[int, set[int]]
    memory_readers: dict[int, set[int]]

    @property
    def n_stages(self) -> int:
        return 1 + max((part.stage for part in self.parts), default=0)


def divide(netlists: Mapping[str, Netlist], *, most_cells: int) -> dict[str, Division]:
    """Parts of all modules of a design.

    Parameters
    ----------
    netlists : mapping of str to Netlist
        All modules, simplified; the instances in them are of these.
    most_cells : int
        A module with those in it is one group if it has no more cells than that.

    Raises
    ------
    NetlistError
        If there is a loop through several modules.
    """
    stages = _Stages(netlists, most_cells)
    return {name: _division(netlist, stages.groups[name], stages.of[name]) for name, netlist in netlists.items()}


def _groups(netlist: Netlist, most_cells: int) -> list[int]:
    """For each module within, the one whose group its cells are in."""
    own = [0] * len(netlist.modules)
    for cell in netlist.cells:
        own[cell.module] += 1
    number = {path: index for index, path in enumerate(netlist.modules)}
    whole = own.copy()
    for path in sorted(netlist.modules, key=len, reverse=True):
        if path:
            whole[number[path[:-1]]] += whole[number[path]]
    group = list(range(len(own)))
    for path in sorted(netlist.modules, key=len):
        above = number[path[:-1]] if path else 0
        index = number[path]
        if path and (group[above] != above or whole[above] <= most_cells):
            group[index] = group[above]
    return group


class _Stages:
    """Stages of all cells; an instance's are those of its module, the latest of all its instances."""

    def __init__(self, netlists: Mapping[str, Netlist], most_cells: int):
        self.netlists = netlists
        self.groups = {name: _groups(netlist, most_cells) for name, netlist in netlists.items()}
        self.of = {name: [0] * len(netlist.cells) for name, netlist in netlists.items()}
        self._before = {
            name: [sorted({net >> 16 for value in cell.args for net in value} - {0}) for cell in netlist.cells]
            for name, netlist in netlists.items()
        }
        # Stages in which inputs have arrived, and outputs are there.
        self._inputs = {name: dict.fromkeys(netlist.inputs, 0) for name, netlist in netlists.items()}
        self._outputs = {name: dict.fromkeys(netlist.outputs, 0) for name, netlist in netlists.items()}
        moved = True
        while moved:
            moved = False
            for name in netlists:
                moved |= self._pass(name)

    def _pass(self, name: str) -> bool:
        """Goes through a module once; whether a port of it or of an instance in it has moved."""
        netlist, group, stage = self.netlists[name], self.groups[name], self.of[name]
        cells, before = netlist.cells, self._before[name]
        moved = False
        for number, cell in enumerate(cells):
            if cell.op in SOURCES:
                if cell.op == "input":
                    stage[number] = self._inputs[name][cell.param]
                elif cell.op == "part_out":
                    instance, port = cell.param
                    stage[number] = 1 + self._outputs[netlist.instances[instance].kind][port]
                continue
            at = 0
            for other in before[number]:
                source = cells[other]
                if source.op == "ff":
                    continue
                away = source.op not in SOURCES and group[source.module] != group[cell.module]
                at = max(at, stage[other] + away)
            stage[number] = at
            if at > MOST_STAGES:
                where = ".".join((name, *netlist.modules[cell.module]))
                raise NetlistError(f"a loop through modules around {where}")
            if cell.op == "output":
                moved |= self._move(self._outputs[name], cell.param, at)
            elif cell.op == "part_in":
                instance, port = cell.param
                moved |= self._move(self._inputs[netlist.instances[instance].kind], port, at + 1)
        for number, cell in netlist.of("ff"):
            # Here the stage of a register is that of its next value.
            stage[number] = max((
                stage[other] + (cells[other].op not in SOURCES and group[cells[other].module] != group[cell.module])
                for other in before[number] if cells[other].op != "ff"
            ), default=0)
        return moved

    @staticmethod
    def _move(ports: dict[str, int], port: str, stage: int) -> bool:
        if port in ports and stage > ports[port]:
            ports[port] = stage
            return True
        return False


def _delay(netlist: Netlist, group: list[int], stage: list[int]) -> None:
    """Moves cells that only later stages of their own group look at to the first of these: so they are no values that
    one part leaves for another.
    """
    cells = netlist.cells
    latest: list[int | None] = [None] * len(cells)
    others = [False] * len(cells)
    for number, cell in netlist.of("ff"):
        _look(cells, cell, group, stage[number], latest, others)
    for number in range(len(cells) - 1, 0, -1):
        cell = cells[number]
        if cell.op in SOURCES:
            continue
        wanted = latest[number]
        if cell.op not in SINKS and not others[number] and wanted is not None:
            stage[number] = max(stage[number], wanted)
        _look(cells, cell, group, stage[number], latest, others)


def _look(
    cells: list[Cell], cell: Cell, group: list[int], stage: int, latest: list[int | None], others: list[bool],
) -> None:
    for before in {net >> 16 for value in cell.args for net in value} - {0}:
        if cells[before].op in SOURCES:
            continue
        if group[cells[before].module] != group[cell.module]:
            others[before] = True
        known = latest[before]
        latest[before] = stage if known is None else min(known, stage)


def _division(netlist: Netlist, group: list[int], stage: list[int]) -> Division:
    cells = netlist.cells
    _delay(netlist, group, stage)
    keys = {
        number: (stage[number], group[cell.module]) for number, cell in enumerate(cells)
        if cell.op == "ff" or (cell.op not in SOURCES and cell.op != "none")
    }
    pieces = _pieces(netlist, keys)
    order = {piece: index for index, piece in enumerate(sorted(set(pieces.values())))}
    parts = [Part(".".join(netlist.modules[module]) or "top", at) for at, module, _ in sorted(order)]
    part_of = {number: order[piece] for number, piece in pieces.items()}
    for number, part in part_of.items():
        (parts[part].registers if cells[number].op == "ff" else parts[part].cells).append(number)
    readers: dict[int, set[int]] = {}
    memory_readers: dict[int, set[int]] = {}
    for number, part in part_of.items():
        cell = cells[number]
        for other in {net >> 16 for value in cell.args for net in value} - {0}:
            if cells[other].op in SOURCES or part_of[other] != part:
                readers.setdefault(other, set()).add(part)
        if cell.op == "read":
            memory_readers.setdefault(cell.param, set()).add(part)
    if netlist.keeps_names:
        for bits in netlist.names.values():
            for net in bits.values():
                if cells[net >> 16].op != "ff":
                    readers.setdefault(net >> 16, set())
    return Division(parts, part_of, readers, memory_readers)


def _pieces(netlist: Netlist, keys: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int, int]]:
    """Cells of a group and stage that have nothing to do with each other are parts of their own, but for small ones,
    which stand together.
    """
    cells = netlist.cells
    above = {number: number for number in keys}

    def root(number: int) -> int:
        while above[number] != number:
            above[number] = above[above[number]]
            number = above[number]
        return number

    same: dict[tuple[tuple[int, int], Value], int] = {}
    for number, key in keys.items():
        for other in {net >> 16 for value in cells[number].args for net in value} - {0}:
            if cells[other].op not in SOURCES and keys[other] == key:
                above[root(other)] = root(number)
        if cells[number].op == "part_in":
            # Cells of several instances that read one value have work at the same times, so they join one group.
            above[root(number)] = root(same.setdefault((key, cells[number].args[0]), number))
    sizes: dict[int, int] = {}
    for number in keys:
        sizes[root(number)] = sizes.get(root(number), 0) + 1
    place: dict[int, int] = {}
    filled: dict[tuple[int, int], tuple[int, int]] = {}
    for number, key in keys.items():
        first = root(number)
        if first in place:
            continue
        piece, size = filled.get(key, (0, 0))
        if size >= LEAST_CELLS:
            piece, size = piece + 1, 0
        place[first] = piece
        filled[key] = piece, size + sizes[first]
    return {number: (*key, place[root(number)]) for number, key in keys.items()}
