"""The back end: C++ of the parts of a module. What it asks of the machine stands in ``lanes.h``; another back end would
take this file's place.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sim.cluster.lanes.columns import Column, Rows, matrices, size_of
from sim.cluster.lanes.expressions import operation
from sim.cluster.lanes.layout import POINTER, WORD, Layout, n_words
from sim.cluster.lanes.netlist import SINKS, Cell, Netlist, Value
from sim.cluster.lanes.parts import Division
from sim.cluster.lanes.words import ZERO, bit, word

LEAST_INSTANCES = 4
"""So many instances of a module that have a value have it put into their blocks by a loop."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module of a design with all that its code needs to know."""

    name: str
    netlist: Netlist
    division: Division
    layout: Layout
    used_words: dict[int, int]
    """For each cell of several bits, a bit for each word that something looks at."""

    def input(self, port: str) -> int | None:
        """The cell of an input; none if nothing looks at it."""
        return next((number for number, one in self.netlist.of("input") if one.param == port), None)


def used_words(netlist: Netlist) -> dict[int, int]:
    """See :class:`Module`."""
    used: dict[int, int] = {}
    cells = netlist.cells
    for cell in cells:
        for value in cell.args:
            for net in value:
                if net > 1 and cells[net >> 16].width > 1:
                    number = net >> 16
                    used[number] = used.get(number, 0) | 1 << (net & 0xFFFF) // WORD
    if netlist.keeps_names:
        for bits in netlist.names.values():
            for net in bits.values():
                used[net >> 16] = used.get(net >> 16, 0) | 1 << (net & 0xFFFF) // WORD
    return used


def part_function(modules: Mapping[str, Module], name: str, part: int, *, lanes: int) -> str:
    """The function that evaluates a part: what others look at and what registers take next is left in the block, and
    who follows what has changed is statements.
    """
    return _PartCode(modules, modules[name], part, 8 * lanes).text()


def write_function(module: Module, part: int, *, lanes: int) -> str:
    """The function that carries out a part's writes to memories at a clock edge; empty if it has none."""
    lines: list[str] = []
    layout = module.layout
    vector = 8 * lanes
    for number in module.division.parts[part].cells:
        cell = module.netlist.cells[number]
        if cell.op != "write":
            continue
        memory = module.netlist.memories[cell.param]
        words = n_words(memory.width)
        pointer = f"POINTED(std::uint64_t, {layout.memories + POINTER * cell.param})"
        for mask, address, data, bits in layout.write_slots[number]:
            lines.append(f"    if (const unsigned on = MASK({mask})) {{")
            lines += [
                f"        STORE({pointer}, {words}, {index}, {memory.depth}ull, on, WORDS({address}), "
                f"WORDS({data + vector * index}), {f'WORDS({bits + vector * index})' if bits else 'C(~0ull)'});"
                for index in range(words)
            ]
            lines.append("    }")
        readers = module.division.memory_readers.get(cell.param, set())
        lines += [f"    {text}" for text in _raised(layout, readers, "b", layout_words=0)]
    return "\n".join(lines)


def _raised(layout: Layout, parts: Iterable[int], block: str, *, layout_words: int) -> list[str]:
    """Statements that mark parts as to be evaluated; `layout_words`: the word of activity where theirs begin."""
    marks: dict[int, int] = {}
    for part in parts:
        index, place = layout.bits[part]
        marks[index] = marks.get(index, 0) | 1 << place
    return [
        f"RAISE({block}, {8 * (layout_words + index)}, {mark:#x}ull);" for index, mark in sorted(marks.items())
    ]


class _PartCode:
    """Writes one function, top down; the operands of operations are its constants."""

    def __init__(self, modules: Mapping[str, Module], module: Module, part: int, vector: int):
        self.modules, self.module, self.part, self._vector = modules, module, part, vector
        self.cells = module.netlist.cells
        self._lines: list[str] = []
        self._names: dict[str, str] = {}
        self._values: dict[tuple[int, int], str] = {}
        self._changes: dict[tuple[str, frozenset[int]], tuple[list[str], list[str]]] = {}
        self._children: dict[int, str] = {}
        here = module.division.parts[part]
        self._matrices = matrices(
            self.width, (value for number in (*here.cells, *here.registers) for value in self.cells[number].args),
        )
        self._transposed: dict[Rows, str] = {}

    # Operands.

    def width(self, number: int) -> int:
        return self.cells[number].width

    def mask(self, number: int) -> str:
        return self._value(number, 0)

    def word(self, number: int, index: int) -> str:
        return self._value(number, index)

    def local(self, kind: str, text: str) -> str:
        if text.isidentifier() and text != ZERO:
            return text
        name = self._names.get(text)
        if name is None:
            name = self._names[text] = f"t{len(self._names)}"
            self._lines.append(f"const {kind} {name} = {text};")
        return name

    def column(self, column: Column) -> str | None:
        if column.rows not in self._matrices:
            return None
        name = self._transposed.get(column.rows)
        if name is None:
            name = self._transposed[column.rows] = f"x{len(self._transposed)}"
            size = size_of(self.width, column.rows)
            rows = {place: self.word(number, index) for place, number, index in column.rows}
            self._lines.append(f"V {name}[{size}] = {{{', '.join(rows.get(row, ZERO) for row in range(size))}}};")
            self._lines.append(f"TRANSPOSE({name}, {size});")
        return f"{name}[{column.bit}]"

    def _value(self, number: int, index: int) -> str:
        """The name of a value of this part, or of one that is read from the block when it is first needed."""
        name = self._values.get((number, index))
        if name is None:
            cell = self.cells[number]
            is_mask = cell.width == 1
            name = f"{'m' if is_mask else 'v'}{number}" + (f"_{index}" if index else "")
            self._values[number, index] = name
            block, at = self._place(number, cell)
            load = f"MASK_OF({block}, {at})" if is_mask else f"WORDS_OF({block}, {at + self._vector * index})"
            self._lines.append(f"const {'M' if is_mask else 'V'} {name} = {load};")
        return name

    def _place(self, number: int, cell: Cell) -> tuple[str, int]:
        if cell.op != "part_out":
            return "b", self.module.layout.present[number]
        instance, port = cell.param
        kind = self.module.netlist.instances[instance].kind
        return self._child(instance), self.modules[kind].layout.outputs[port]

    def _child(self, instance: int) -> str:
        name = self._children.get(instance)
        if name is None:
            name = self._children[instance] = f"c{instance}"
            at = self.module.layout.children + POINTER * instance
            self._lines.append(f"char* const {name} = POINTED(char, {at});")
        return name

    # The function.

    def text(self) -> str:
        part, division = self.module.division.parts[self.part], self.module.division
        later: list[int] = []
        for number in part.cells:
            cell = self.cells[number]
            if cell.op in SINKS:
                later.append(number)
                continue
            self._operation(number, cell)
            if number in division.readers:
                self._keep(number, cell, frozenset(division.readers[number]))
        for number in part.registers:
            self._register(number, self.cells[number])
        for number in self._spread(later):
            self._sink(number, self.cells[number])
        self._tell()
        return "\n".join(f"    {line}" for line in self._lines)

    def _operation(self, number: int, cell: Cell) -> None:
        if cell.width == 1:
            name = f"m{number}"
            text = self._read(cell, 0) if cell.op == "read" else operation(self, cell, 0)
            self._lines.append(f"const M {name} = {text};")
            self._values[number, 0] = name
            return
        used = self.module.used_words.get(number, 0)
        for index in range(n_words(cell.width)):
            if used >> index & 1:
                name = f"v{number}" + (f"_{index}" if index else "")
                text = self._read(cell, index) if cell.op == "read" else operation(self, cell, index)
                self._lines.append(f"const V {name} = {text};")
                self._values[number, index] = name

    def _read(self, cell: Cell, index: int) -> str:
        address, (enable,) = cell.args
        memory = self.module.netlist.memories[cell.param]
        at = self.module.layout.memories + POINTER * cell.param
        load = f"LOAD(POINTED(std::uint64_t, {at}), {n_words(memory.width)}, {index}, {memory.depth}ull, " \
               f"{bit(self, enable)}, {self.local('V', word(self, address, 0))})"
        return f"BIT({load}, 1ull)" if cell.width == 1 else load

    def _keep(self, number: int, cell: Cell, readers: frozenset[int]) -> None:
        """Leaves a value for other parts, which follow in this cycle."""
        at = self.module.layout.present[number]
        self._store("now", readers, at, at, (number << 16,) if cell.width == 1 else tuple(
            range(number << 16, (number << 16) + cell.width)
        ), self.module.used_words.get(number, 0))

    def _register(self, number: int, cell: Cell) -> None:
        layout = self.module.layout
        readers = frozenset(self.module.division.readers.get(number, set()))
        self._store(
            "time" if number in self.module.netlist.timers else "next", readers, layout.present[number],
            layout.following[number], cell.args[0], self.module.used_words.get(number, 0),
        )

    def _store(
        self, when: str, key: frozenset[int], old: int, new: int, value: Value, used: int, block: str = "b",
    ) -> None:
        """Puts a value into the block, and notes how it differs from what stands there."""
        masks, words = self._changes.setdefault((when if block == "b" else f"{when} {block}", key), ([], []))
        group = list(self._changes).index((when if block == "b" else f"{when} {block}", key))
        if len(value) == 1:
            text = self.local("M", bit(self, value[0]))
            self._lines.append(f"{'CHANGE' if masks else 'FIRST'}_MASK(dm{group}, {block}, {old}, {new}, {text})")
            masks.append(text)
            return
        for index in range(n_words(len(value))):
            if used >> index & 1:
                there = self._vector * index
                text = self.local("V", word(self, value, index))
                self._lines.append(
                    f"{'CHANGE' if words else 'FIRST'}_WORD(dv{group}, {block}, {old + there}, {new + there}, {text})"
                )
                words.append(text)

    def _sink(self, number: int, cell: Cell) -> None:
        layout = self.module.layout
        if cell.op == "assert":
            at = layout.assertions[number]
            self._lines.append(f"ASSERTION(b, {at}, {bit(self, cell.args[0][0])}, {layout.alarm})")
        elif cell.op == "output":
            at = layout.outputs[cell.param]
            self._store(f"output {cell.param}", frozenset(), at, at, cell.args[0], -1)
        elif cell.op == "part_in":
            instance, port = cell.param
            child = self.modules[self.module.netlist.instances[instance].kind]
            number_there = child.input(port)
            if number_there is not None:
                readers = frozenset(child.division.readers.get(number_there, set()))
                at = child.layout.present[number_there]
                block = self._child(instance)
                self._store("input", readers, at, at, cell.args[0], -1, block)
        else:
            self._write(number, cell)

    def _spread(self, sinks: Iterable[int]) -> Iterator[int]:
        """Writes the loops that put values which many instances of a module have into their blocks; gives the rest."""
        same: dict[tuple[str, str, Value], list[int]] = {}
        for number in sinks:
            cell = self.cells[number]
            if cell.op != "part_in":
                yield number
                continue
            instance, port = cell.param
            key = self.module.netlist.instances[instance].kind, port, cell.args[0]
            same.setdefault(key, []).append(number)
        for (kind, port, value), numbers in same.items():
            if len(numbers) < LEAST_INSTANCES:
                yield from numbers
            else:
                self._to_each(self.modules[kind], port, value, [self.cells[number].param[0] for number in numbers])

    def _to_each(self, child: Module, port: str, value: Value, instances: list[int]) -> None:
        there = child.input(port)
        if there is None:
            return
        at, lines = child.layout.present[there], self._lines
        if len(value) == 1:
            words = [(0, self.local("M", bit(self, value[0])))]
        else:
            used = child.used_words.get(there, 0)
            words = [
                (self._vector * index, self.local("V", word(self, value, index)))
                for index in range(n_words(len(value))) if used >> index & 1
            ]
        kind, test = ("MASK", "d") if len(value) == 1 else ("WORD", "SOME(d)")
        lines.append(f"static const unsigned short to{len(lines)}[] = {{{', '.join(map(str, instances))}}};")
        lines.append(f"for (const unsigned n : to{len(lines) - 1}) {{")
        lines.append(f"    char* const c = POINTED(char, {self.module.layout.children} + {POINTER} * n);")
        for index, (offset, text) in enumerate(words):
            lines.append(f"    {'CHANGE' if index else 'FIRST'}_{kind}(d, c, {at + offset}, {at + offset}, {text})")
        if words:
            marks = _raised(child.layout, child.division.readers.get(there, set()), "c", layout_words=0)
            lines.append(f"    if ({test}) {{ {' '.join(marks)} }}")
        lines.append("}")

    def _write(self, number: int, cell: Cell) -> None:
        for slot, address, data, enable in zip(
            self.module.layout.write_slots[number], cell.args[::3], cell.args[1::3], cell.args[2::3], strict=True,
        ):
            mask_at, address_at, data_at, bits_at = slot
            some = " | ".join(bit(self, net) for net in dict.fromkeys(enable) if net) or "0u"
            on = self.local("M", f"({some})")
            self._lines.append(f"SET_MASK({mask_at}, {on})")
            self._lines.append(f"SET_WORDS({address_at}, {word(self, address, 0)})")
            for index in range(n_words(len(data))):
                self._lines.append(f"SET_WORDS({data_at + self._vector * index}, {word(self, data, index)})")
                if bits_at:
                    self._lines.append(f"SET_WORDS({bits_at + self._vector * index}, {word(self, enable, index)})")
            self._lines.append(f"if ({on}) {{ {self._due()} {self._moved(on)} }}")

    def _due(self) -> str:
        """Marks this part as one that the next clock edge has work with."""
        layout = self.module.layout
        index, place = layout.bits[self.part]
        return f"RAISE(b, {8 * (2 * layout.n_activity + index)}, {1 << place:#x}ull);"

    def _moved(self, lanes: str) -> str:
        """Notes the lanes in which it has."""
        return f"*POINTED(unsigned, {self.module.layout.moved}) |= {lanes};"

    def _tell(self) -> None:
        layout = self.module.layout
        for group, ((when, readers), (masks, words)) in enumerate(self._changes.items()):
            changed = " | ".join([f"dm{group}"] * bool(masks) + [f"SOME(dv{group})"] * bool(words))
            if not changed:
                continue
            kind, *rest = when.split(" ")
            if kind == "now":
                statements = _raised(layout, readers, "b", layout_words=0)
            elif kind in ("next", "time"):
                statements = [*_raised(layout, readers, "b", layout_words=layout.n_activity), self._due()]
                if kind == "next":
                    changed = self.local("M", changed)
                    statements.append(self._moved(changed))
            elif kind == "input":
                instance = int(rest[0][1:])
                child = self.modules[self.module.netlist.instances[instance].kind].layout
                statements = _raised(child, readers, rest[0], layout_words=0)
            else:
                statements = [f"tell(POINTED(const Listener, {layout.listeners + POINTER * self._port(rest[0])}));"]
            if statements:
                self._lines.append(f"if ({changed}) {{ {' '.join(statements)} }}")

    def _port(self, name: str) -> int:
        return list(self.module.netlist.outputs).index(name)
