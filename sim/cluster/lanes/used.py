"""Takes out of a netlist the cells, registers and bits that no sink follows."""

from typing import Any

from sim.cluster.lanes.netlist import SINKS, Cell, Netlist, Value


def used_only(netlist: Netlist) -> Netlist:
    """Leaves out cells and bits that no sink follows, and registers likewise."""
    used = _used_bits(netlist)
    result = Netlist(
        modules=netlist.modules, memories=netlist.memories, instances=netlist.instances, inputs=netlist.inputs,
        outputs=netlist.outputs, keeps_names=netlist.keeps_names,
    )
    now: dict[int, int] = {0: 0, 1: 1}
    registers: list[tuple[int, Cell, int]] = []
    for number, cell in enumerate(netlist.cells):
        bits = used[number]
        if cell.op in SINKS:
            result.add(cell.op, 0, tuple(_moved(value, now) for value in cell.args), cell.module, cell.param)
        elif bits:
            width = bits.bit_length() if cell.op in _NARROWED else cell.width
            args = () if cell.op == "ff" else tuple(
                _moved(value, now) for value in _arguments(cell, width, bits)
            )
            param = cell.param
            if cell.op == "choose":
                args, param = _kept(args, param, width, bits)
            out = result.add(cell.op, width, args, cell.module, param)
            for bit, net in enumerate(out):
                now[number << 16 | bit] = net
            if cell.op == "ff":
                registers.append((out[0] >> 16, cell, bits))
    for there, cell, bits in registers:
        following = tuple(net if bits >> bit & 1 else 0 for bit, net in enumerate(cell.args[0]))
        result.cells[there].args = (_moved(following, now),)
        if cell.param is not None:
            result.cells[there].param = cell.param & bits
    for name, bits_of in netlist.names.items():
        kept = {bit: now[net] for bit, net in bits_of.items() if net > 1 and used[net >> 16] >> (net & 0xFFFF) & 1}
        if kept:
            result.names[name] = kept
    return result


_NARROWED = frozenset({"add", "sub", "neg", "mul", "shl", "and", "or", "xor", "not", "mux", "choose"})
"""Operations of which the low bits of the output follow no higher bits of the values."""
_BITWISE = frozenset({"and", "or", "xor", "not"})


def _moved(value: Value, now: dict[int, int]) -> Value:
    return tuple([now.get(net, 0) for net in value])


def _arguments(cell: Cell, width: int, bits: int) -> tuple[Value, ...]:
    """Arguments of a cell of which only some bits are looked at, the highest below `width`."""
    if cell.op == "mux":
        return (cell.args[0], *(_masked(value, width, bits) for value in cell.args[1:]))
    if cell.op in _BITWISE:
        return tuple(_masked(value, width, bits) for value in cell.args)
    if cell.op == "shl":
        return (cell.args[0][:width], cell.args[1])
    if cell.op == "choose":
        parts: list[Value] = [_masked(cell.args[0], width, bits)]
        for start, condition, value in zip(cell.param, cell.args[1::2], cell.args[2::2], strict=True):
            parts += [condition, _masked(value, max(0, width - start), bits >> start)]
        return tuple(parts)
    if cell.op in _NARROWED:
        return tuple(value[:width] for value in cell.args)
    return cell.args


def _masked(value: Value, width: int, bits: int) -> Value:
    if bits & (1 << width) - 1 == (1 << width) - 1:
        return value[:width]
    return tuple([net if bits >> bit & 1 else 0 for bit, net in enumerate(value[:width])])


def _kept(args: tuple[Value, ...], param: Any, width: int, bits: int) -> tuple[tuple[Value, ...], Any]:
    """A choice without the steps that no used bit follows."""
    kept, starts = [args[0]], []
    for start, condition, value in zip(param, args[1::2], args[2::2], strict=True):
        if start < width and value and bits >> start & (1 << len(value)) - 1:
            kept += [condition, value]
            starts.append(start)
    return tuple(kept), tuple(starts)


def _used_bits(netlist: Netlist) -> list[int]:
    """For every cell, the bits of its output that some sink follows, over any number of cycles."""
    cells = netlist.cells
    used = [0] * len(cells)

    def use(value: Value, bits: int = -1) -> None:
        for bit, net in enumerate(value):
            if net > 1 and bits >> bit & 1:
                used[net >> 16] |= 1 << (net & 0xFFFF)

    for cell in cells:
        if cell.op in SINKS:
            for value in cell.args:
                use(value)
    if netlist.keeps_names:
        for bits_of in netlist.names.values():
            use(tuple(bits_of.values()))
    seen = [0] * len(cells)
    while True:
        # Cells stand in order: one pass backwards is enough, but for registers.
        for number in range(len(cells) - 1, 0, -1):
            cell, bits = cells[number], used[number]
            if bits == seen[number] or cell.op in SINKS or cell.op == "ff":
                continue
            seen[number] = bits
            width = bits.bit_length() if cell.op in _NARROWED else cell.width
            for value in _arguments(cell, width, bits):
                use(value)
        changed = False
        for number, cell in enumerate(cells):
            if cell.op == "ff" and used[number] != seen[number]:
                seen[number] = used[number]
                use(cell.args[0], used[number])
                changed = True
        if not changed:
            return used
