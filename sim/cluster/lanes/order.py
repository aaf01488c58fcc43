"""An order in which every cell of a netlist stands behind those that it follows."""

from collections.abc import Iterator

from sim.cluster.lanes.netlist import SINKS, SOURCES, Cell, Netlist


def in_order(netlist: Netlist) -> list[int]:
    """Numbers of all cells but sources, each behind those that it follows; sinks and what registers take are followed
    to their beginnings one after the other, so that what belongs together stands together.
    """
    cells = netlist.cells
    done = bytearray(len(cells))
    order: list[int] = []
    for number, cell in enumerate(cells):
        if cell.op in SOURCES or cell.op == "none":
            done[number] = 1
    roots = [net >> 16 for cell in cells if cell.op == "ff" for net in cell.args[0]]
    roots += [number for number, cell in enumerate(cells) if cell.op in SINKS]
    if netlist.keeps_names:
        roots += [net >> 16 for bits in netlist.names.values() for net in bits.values()]
    for root in roots:
        if done[root]:
            continue
        done[root] = 1
        stack: list[tuple[int, Iterator[int]]] = [(root, _before(cells[root]))]
        while stack:
            number, before = stack[-1]
            for other in before:
                if not done[other]:
                    done[other] = 1
                    stack.append((other, _before(cells[other])))
                    break
            else:
                order.append(number)
                stack.pop()
    return order


def _before(cell: Cell) -> Iterator[int]:
    last = 0
    for value in cell.args:
        for net in value:
            number = net >> 16
            if number != last and number:
                last = number
                yield number
