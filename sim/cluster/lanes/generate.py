"""From a component to C++: the files that make a design of it for clusters."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.lib import wiring

from rtl.simulation import ClusterPorts
from sim.cluster.lanes.code import Module, part_function, used_words, write_function
from sim.cluster.lanes.layout import lay_out
from sim.cluster.lanes.loops import without_loops
from sim.cluster.lanes.netlist import netlists
from sim.cluster.lanes.parts import divide
from sim.cluster.lanes.rest import with_rest
from sim.cluster.lanes.simplify import simplified
from sim.cluster.lanes.tables import has_writes, part_symbol, tables, write_symbol

MOST_CELLS = 200
"""Cells of a module, with those in it, up to which it is one group (docs/cluster.md: what others gain or lose)."""


@dataclass(frozen=True)
class Generated:
    """Generated source text of a design.

    Members
    -------
    files : list of str
        Texts with the parts, of about the same size.
    tables : str
        Text with the tables.
    """

    files: list[str]
    tables: str


def generate(
    name: str, component: wiring.Component, *, lanes: int, symbol: str, n_files: int, ports: ClusterPorts,
    flit_bytes: int, all_names: bool = False,
) -> Generated:
    """C++ of `component` for so many lanes; its tables are the constant `symbol`.

    With `all_names` all values that have a name are kept, for waveforms. `ports` and `flit_bytes` as for
    :func:`sim.cluster.lanes.tables.tables`.

    Raises
    ------
    NetlistError
        If the component has something that the generator does not know, or a loop.
    """
    modules = modules_of(name, component, lanes=lanes, all_names=all_names)
    functions: list[str] = []
    for number, (module, one) in enumerate(modules.items()):
        for part in range(len(one.division.parts)):
            body = part_function(modules, module, part, lanes=lanes)
            functions.append(f"void {part_symbol(number, part)}(char* b) {{\n{body}\n}}\n")
            if has_writes(one, part):
                body = write_function(one, part, lanes=lanes)
                functions.append(f"void {write_symbol(number, part)}(char* b) {{\n{body}\n}}\n")
    return Generated(
        [_file(texts, symbol) for texts in _balanced(functions, n_files)],
        tables(modules, name, lanes=lanes, symbol=symbol, ports=ports, flit_bytes=flit_bytes),
    )


def modules_of(
    name: str, component: wiring.Component, *, lanes: int, all_names: bool = False
) -> dict[str, Module]:
    """All modules of a component, with what their code needs to know."""
    found = netlists(name, component, all_names=all_names)
    for netlist in found.values():
        without_loops(netlist)
    simple = with_rest({module: simplified(netlist) for module, netlist in found.items()})
    divisions = divide(simple, most_cells=MOST_CELLS)
    return {
        module: Module(
            module, netlist, divisions[module], lay_out(netlist, divisions[module], lanes), used_words(netlist),
        ) for module, netlist in simple.items()
    }


def _file(texts: Sequence[str], symbol: str) -> str:
    return f'#include "lanes.h"\nnamespace conic::lanes::{symbol}_parts {{\n' + "".join(texts) + "}\n"


def _balanced(texts: Sequence[str], count: int) -> list[list[str]]:
    """Texts in `count` groups of about the same size, in their order."""
    groups: list[list[str]] = [[] for _ in range(count)]
    total, size = sum(map(len, texts)), 0
    for text in texts:
        groups[min(count - 1, size * count // max(1, total))].append(text)
        size += len(text)
    return groups
