"""Netlists as the generator wants them: Amaranth's, lowered to a few operations on values of any width.

A *net* is one bit: ``cell << 16 | bit``, or 0 and 1 for the constants. A *value* is a tuple of nets, lowest bit first.
Every cell has one output of `width` bits; what has none is a *sink*. The operations and what their arguments are:

=============== ====================================================================================================
``input``       none; `param` is the port's name
``ff``          value after the next edge; `param` is the initial value, None for a random one
``part_out``    none; `param` is instance number and port of an instance of another module
``and or xor``  two values as wide as the output; ``not``, ``neg``: one
``add sub mul`` two values as wide as the output, modulo 2^width
``eq ult ule``  two values of one width; also ``slt sle``, whose values are signed
``any all odd`` one value: some bit, every bit, an odd number of bits
``match``       one value; `param` is a tuple of (mask, bits), of which one must hold
``mux``         condition, value if 1, value if 0
``choose``      default, then condition and value in turns; `param` has the first bit of each: later ones win
``shl shr sar`` value as wide as the output, amount
``read``        address, enable; `param` is the number of a memory. The output is of no use where enable is 0
``write``       sink: address, data, enable of every bit, for each port; `param` is the memory. Later ports win
``assert``      sink: must never be 1; `param` is the text
``output``      sink; `param` is the port's name
``part_in``     sink; `param` is instance number and port
=============== ====================================================================================================
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import _ir, _nir
from amaranth.lib import wiring

from rtl.kit.library import ModuleLibrary, SharedModule, collection_paused

Value = tuple[int, ...]

SOURCES = frozenset({"input", "ff", "part_out"})
"""Operations whose output follows no argument within a cycle."""
SINKS = frozenset({"write", "assert", "output", "part_in"})
"""Operations without an output."""
_CLOCK = "clk"


class NetlistError(ValueError):
    """The design has something that the generator does not know, or a loop."""


@dataclass(slots=True, eq=False)
class Cell:
    """An operation; see above."""

    op: str
    width: int
    args: tuple[Value, ...]
    module: int
    param: Any = None


@dataclass(slots=True, eq=False)
class Memory:
    """Words of `width` bits, with the values that they begin with."""

    name: str
    width: int
    depth: int
    init: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Instance:
    """An instance of another module of the design: its name with all modules around it, and the module's."""

    path: tuple[str, ...]
    kind: str
    module: int


@dataclass(slots=True, eq=False)
class Netlist:
    """One module of a design, with all that stands in it but instances of the others.

    Members
    -------
    cells : list of Cell
        The first is none, so that no net of a cell is a constant.
    modules : list of tuple of str
        Names of the modules within, each with those around it; the first is the top's.
    memories, instances : list
        What ``read``, ``write``, ``part_in`` and ``part_out`` refer to.
    names : dict of str to dict of int to int
        Registers, or all values: for each name of one, ``"control.level"``, the net of each bit. A value has several
        names where it goes through several modules.
    keeps_names : bool
        What has a name is not left out.
    timers : dict of int to int
        Registers to which every cycle adds a constant, and the constant, as ``rest.py`` finds them.
    inputs, outputs : dict of str to int
        Ports and their widths.
    """

    cells: list[Cell] = field(default_factory=lambda: [Cell("none", 0, (), 0)])
    modules: list[tuple[str, ...]] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)
    names: dict[str, dict[int, int]] = field(default_factory=dict)
    keeps_names: bool = False
    timers: dict[int, int] = field(default_factory=dict)
    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)

    def add(self, op: str, width: int, args: tuple[Value, ...], module: int, param: Any = None) -> Value:
        """A new cell; its output."""
        first = len(self.cells) << 16
        self.cells.append(Cell(op, width, args, module, param))
        return tuple(range(first, first + width))

    def of(self, op: str) -> Iterator[tuple[int, Cell]]:
        """All cells of one operation, with their numbers."""
        return ((number, cell) for number, cell in enumerate(self.cells) if cell.op == op)


def netlists(name: str, component: wiring.Component, *, all_names: bool = False) -> dict[str, Netlist]:
    """Netlist of `component` as module `name`, and of every shared module in it; with `all_names` values that are no
    registers have their names too.

    Raises
    ------
    NetlistError
        If a cell is of a kind that clusters do not have: tristates, clocks of their own, latches, foreign modules.
    """
    library = ModuleLibrary()
    waiting: dict[str, wiring.Component] = {name: component}
    made: dict[str, Netlist] = {}
    with collection_paused():
        while waiting:
            for module, one in waiting.items():
                made[module] = _lowered(one, library, all_names)
            waiting = {module: SharedModule(one) for module, one in library.modules.items() if module not in made}
    for instance in (one for netlist in made.values() for one in netlist.instances):
        if instance.kind not in made:
            raise NetlistError(f"an instance of {instance.kind}, which is no module of the design")
    return made


def _lowered(component: wiring.Component, library: ModuleLibrary, all_names: bool) -> Netlist:
    ports = {
        name: (
            getattr(component, name),
            _ir.PortDirection.Input if member.flow == wiring.In else _ir.PortDirection.Output,
        )
        for name, member in component.signature.members.items()
    }
    design = _ir.Fragment.get(component, library).prepare(ports=ports, hierarchy=("top",))
    # The other steps of `build_netlist` serve writers of modules only, as the ports of inner modules do; they are left
    # out.
    source = _nir.Netlist()
    _ir._emit_netlist(source, design)
    source.resolve_all_nets()
    return _Lowering(source, all_names).result


class _Lowering:
    """Takes one of Amaranth's netlists over, cell by cell."""

    def __init__(self, source: _nir.Netlist, all_names: bool):
        self.source, self.result = source, Netlist(keeps_names=all_names)
        self.result.modules = [module.name[1:] for module in source.modules]
        # Amaranth's nets of cells with several outputs, and the nets that stand for them here. The others keep the
        # number of their cell: one is made here for each there, in the same order.
        self._moved: dict[int, int] = {}
        self._memories: dict[int, int] = {}
        self._clocks: set[int] = set()
        self._reserve()
        for number, cell in enumerate(source.cells):
            self._lower(number, cell)
        self._write_ports()
        self._top_outputs()
        self._name(all_names)

    def _reserve(self) -> None:
        result, source = self.result, self.source
        for cell in source.cells[1:]:
            result.cells.append(Cell("none", 0, (), cell.module_idx))
        for name, (start, width) in source.top.ports_i.items():
            if name == _CLOCK:
                self._clocks |= set(range(start, start + width))
                continue
            result.inputs[name] = width
            for bit, net in enumerate(result.add("input", width, (), 0, name)):
                self._moved[start + bit] = net
        for number, cell in enumerate(source.cells):
            if isinstance(cell, _nir.Instance):
                index = len(result.instances)
                path = (*result.modules[cell.module_idx], cell.name)
                result.instances.append(Instance(path, cell.type, cell.module_idx))
                for port, (start, width) in cell.ports_o.items():
                    for bit, net in enumerate(result.add("part_out", width, (), cell.module_idx, (index, port))):
                        self._moved[number << 16 | start + bit] = net
                for port, value in cell.ports_i.items():
                    if port != _CLOCK:
                        result.add("part_in", 0, (tuple(value),), cell.module_idx, (index, port))
            elif isinstance(cell, _nir.PriorityMatch):
                left: int = cell.en
                for bit, net in enumerate(cell.inputs):
                    out, = result.add("and", 1, ((left,), (net,)), cell.module_idx)
                    self._moved[number << 16 | bit] = out
                    if bit + 1 < len(cell.inputs):
                        other, = result.add("not", 1, ((net,),), cell.module_idx)
                        left, = result.add("and", 1, ((left,), (other,)), cell.module_idx)
            elif isinstance(cell, _nir.Memory):
                self._memories[number] = len(result.memories)
                name = ".".join((*result.modules[cell.module_idx], cell.name))
                result.memories.append(Memory(name, cell.width, cell.depth, cell.init))
        # Cells added above refer to nets that are not in their final form yet.
        for cell in result.cells[len(source.cells):]:
            cell.args = tuple(map(self._value, cell.args))

    def _value(self, value: Any) -> Value:
        moved = self._moved
        return tuple([moved.get(net, net) for net in map(int, value)])

    def _net(self, net: int) -> int:
        return self._moved.get(int(net), int(net))

    def _lower(self, number: int, cell: Any) -> None:
        match cell:
            case _nir.Operator():
                self._operator(number, cell)
            case _nir.Matches():
                patterns = tuple((
                    int("".join("0" if bit == "-" else "1" for bit in pattern) or "0", 2),
                    int(pattern.replace("-", "0") or "0", 2),
                ) for pattern in cell.patterns)
                self._set(number, "match", 1, (self._value(cell.value),), patterns)
            case _nir.AssignmentList():
                args = [self._value(cell.default)]
                for one in cell.assignments:
                    args += [(self._net(one.cond),), self._value(one.value)]
                starts = tuple(one.start for one in cell.assignments)
                self._set(number, "choose", len(cell.default), tuple(args), starts)
            case _nir.Part():
                self._part(number, cell)
            case _nir.FlipFlop():
                self._check_clock(cell)
                if int(cell.arst) != 0:
                    raise NetlistError("a register with an asynchronous reset: the generator knows none")
                self._set(number, "ff", len(cell.data), (self._value(cell.data),), cell.init)
            case _nir.AsyncReadPort():
                memory = self._memories[cell.memory]
                self._set(number, "read", cell.width, (self._value(cell.addr), (1,)), memory)
            case _nir.SyncReadPort():
                self._check_clock(cell)
                self._sync_read(number, cell)
            case _nir.SyncProperty():
                self._check_clock(cell)
                passed, = self.result.add("not", 1, ((self._net(cell.test),),), cell.module_idx)
                failed = self.result.add("and", 1, ((self._net(cell.en),), (passed,)), cell.module_idx)
                self.result.add("assert", 0, (failed,), cell.module_idx, _text(cell))
            case _nir.Top() | _nir.Instance() | _nir.PriorityMatch() | _nir.Memory() | _nir.SyncWritePort():
                pass
            case _:
                raise NetlistError(f"a cell {type(cell).__name__}: the generator knows none")

    def _set(self, number: int, op: str, width: int, args: tuple[Value, ...], param: Any = None) -> None:
        cell = self.result.cells[number]
        cell.op, cell.width, cell.args, cell.param = op, width, args, param

    def _check_clock(self, cell: Any) -> None:
        if int(cell.clk) not in self._clocks or cell.clk_edge != "pos":
            raise NetlistError("a register with a clock of its own: the generator knows one, and its rising edge")

    def _operator(self, number: int, cell: Any) -> None:
        args = tuple(map(self._value, cell.inputs))
        op = _OPERATORS.get(cell.operator)
        if op is None or (cell.operator == "-" and len(args) == 1):
            op = {"-": "neg", "~": "not"}.get(cell.operator)
        if cell.operator in ("u>", "u>=", "s>", "s>="):
            op, args = f"{cell.operator[0]}l{'e' if cell.operator.endswith('=') else 't'}", args[::-1]
        elif cell.operator == "!=":
            same = self.result.add("eq", 1, args, cell.module_idx)
            op, args = "not", (same,)
        if op is None:
            raise NetlistError(f"operator {cell.operator}: the generator knows none")
        if op in ("shl", "shr", "sar") and max(args[1], default=0) < 2:
            # Bits at other places, and no operation: loops.py can cut it.
            op, args = "alias", (_shifted(op, args[0], sum(net << bit for bit, net in enumerate(args[1]))),)
        self._set(number, op, cell.width, args)

    def _part(self, number: int, cell: Any) -> None:
        value, offset = self._value(cell.value), self._value(cell.offset)
        width = max(len(value), cell.width)
        value += (value[-1] if cell.value_signed and value else 0,) * (width - len(value))
        if cell.stride != 1:
            bits = len(offset) + cell.stride.bit_length()
            if cell.stride & cell.stride - 1 == 0:
                offset = (0,) * (cell.stride.bit_length() - 1) + offset
            else:
                wide = offset + (0,) * (bits - len(offset))
                stride = tuple(cell.stride >> bit & 1 for bit in range(bits))
                offset = self.result.add("mul", bits, (wide, stride), cell.module_idx)
        op = "sar" if cell.value_signed else "shr"
        shifted = self.result.add(op, width, (value, offset), cell.module_idx)
        # The number of the cell is that of what others look at.
        self._set(number, "alias", cell.width, (shifted[:cell.width],))

    def _sync_read(self, number: int, cell: Any) -> None:
        """A register behind a port that reads at once. What is written in the same cycle to the same word is seen where
        the port is transparent for the writer.
        """
        result, module, width = self.result, cell.module_idx, cell.width
        address, enable = self._value(cell.addr), self._net(cell.en)
        word = result.add("read", width, (address, (enable,)), module, self._memories[cell.memory])
        for writer_number in cell.transparent_for:
            writer = self.source.cells[writer_number]
            same = result.add("eq", 1, (address, self._value(writer.addr)), module)
            data, enables = self._value(writer.data), self._value(writer.en)
            args: list[Value] = [word]
            starts = []
            for first, last in _runs(enables):
                hit = result.add("and", 1, (same, (enables[first],)), module)
                args += [hit, data[first:last]]
                starts.append(first)
            word = result.add("choose", width, tuple(args), module, tuple(starts))
        own = tuple(range(number << 16, (number << 16) + width))
        following = result.add("mux", width, ((enable,), word, own), module)
        # Amaranth leaves the first value of such a register undefined.
        self._set(number, "ff", width, (following,), None)

    def _write_ports(self) -> None:
        ports: dict[int, list[Any]] = {}
        for cell in self.source.cells:
            if isinstance(cell, _nir.SyncWritePort):
                self._check_clock(cell)
                ports.setdefault(self._memories[cell.memory], []).append(cell)
        for memory, cells in ports.items():
            args = tuple(self._value(value) for cell in cells for value in (cell.addr, cell.data, cell.en))
            self.result.add("write", 0, args, cells[0].module_idx, memory)

    def _top_outputs(self) -> None:
        for name, value in self.source.top.ports_o.items():
            self.result.outputs[name] = len(value)
            self.result.add("output", 0, (self._value(value),), 0, name)

    def _name(self, all_names: bool) -> None:
        names, cells = self.result.names, self.result.cells
        for index, module in enumerate(self.source.modules):
            for signal, name in module.signal_names.items():
                bits = {
                    bit: net for bit, net in enumerate(self._value(self.source.signals[signal]))
                    if net >> 16 and (cells[net >> 16].op == "ff" or (all_names and cells[net >> 16].op != "part_out"))
                }
                if bits:
                    names[".".join((*self.result.modules[index], name))] = bits


_OPERATORS: Mapping[str, str] = {
    "+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor", "~": "not", "b": "any", "r|": "any",
    "r&": "all", "r^": "odd", "==": "eq", "u<": "ult", "u<=": "ule", "s<": "slt", "s<=": "sle", "<<": "shl",
    "u>>": "shr", "s>>": "sar", "m": "mux",
}


def _shifted(op: str, value: Value, count: int) -> Value:
    width = len(value)
    count = min(count, width)
    if op == "shl":
        return ((0,) * count + value)[:width]
    return value[count:] + (value[-1] if op == "sar" and value else 0,) * count


def _runs(enables: Value) -> Iterator[tuple[int, int]]:
    """First bit, and the one after the last, of each run of bits with one enable."""
    first = 0
    for bit in range(1, len(enables) + 1):
        if bit == len(enables) or enables[bit] != enables[first]:
            yield first, bit
            first = bit


def _text(cell: Any) -> str:
    """Text of an assertion: the parts of its message that are no values."""
    chunks = cell.format.chunks if cell.format is not None else ()
    return "".join(chunk for chunk in chunks if isinstance(chunk, str)).strip() or "an assertion without a text"
