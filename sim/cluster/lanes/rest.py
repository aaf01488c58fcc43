"""Finds out what may be left out: a design is at rest if a clock edge changes no register and no memory.

That is so for good, as long as its inputs stay as they are: what nothing changes, nothing follows. Only *timers* go on,
registers to which every cycle adds the same number. They would keep a design from its rest for ever, and they could
wake it, where something waits for one to reach a value. So each module gets logic that says whether a timer's value can
reach a register, a memory or a port with the values that all others have now: information flow at the level of gates,
as Tiwari et al. follow secrets (ASPLOS 2009). While it does not, what follows from a timer changes nothing, and cycles
are left out by adding to timers what these cycles would have.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sim.cluster.lanes.layout import WORD
from sim.cluster.lanes.netlist import SOURCES, Cell, Netlist, Value

RESTLESS = "restless"
"""The output of a module: a timer's value reaches something in it."""
_SUFFIX = ".timed"
"""Of ports that say whether a timer's value reaches another port."""


def with_rest(netlists: Mapping[str, Netlist]) -> dict[str, Netlist]:
    """The same modules, the top first and in an order in which each cell follows only cells before it, with the output
    :data:`RESTLESS` in each that timers reach. Their timers are in :attr:`Netlist.timers`.
    """
    reach = _Reach(netlists)
    return {
        name: _Watched(netlist, reach, name).result if reach.is_watched(name) else netlist
        for name, netlist in netlists.items()
    }


def timers_of(netlist: Netlist) -> dict[int, int]:
    """Registers to which every cycle adds a constant, unless it gives them another value, and the constants."""
    found = {}
    for number, cell in netlist.of("ff"):
        if 1 < cell.width <= WORD:
            steps = set(_steps(netlist, number, cell.args[0]))
            counts = [step for step in steps if step]
            if len(counts) == 1 and 0 not in steps:
                found[number] = counts[0]
    return found


def _steps(netlist: Netlist, register: int, value: Value) -> Iterator[int | None]:
    """Yields, for each way to a register's next value, the constant that it adds to the register; None for a way that
    gives it a value of its own."""
    below = _choices(netlist, value)
    if below is not None:
        for other in below[1]:
            yield from _steps(netlist, register, other)
        return
    yield _step(netlist, register, value)


def _step(netlist: Netlist, register: int, value: Value) -> int | None:
    own = _whole(netlist, register)
    if value == own:
        return 0
    source = _source(netlist, value)
    if source is not None and source.op == "add" and own in source.args:
        other = source.args[1 - source.args.index(own)]
        if max(other) < 2:
            return sum(net << bit for bit, net in enumerate(other)) or None
    return None


def _whole(netlist: Netlist, number: int) -> Value:
    return tuple(range(number << 16, (number << 16) + netlist.cells[number].width))


def _source(netlist: Netlist, value: Value) -> Cell | None:
    """The cell whose whole output a value is."""
    number = value[0] >> 16
    return netlist.cells[number] if number and value == _whole(netlist, number) else None


def _choices(netlist: Netlist, value: Value) -> tuple[list[int], list[Value]] | None:
    """Conditions and values of a choice among values as wide as this one."""
    source = _source(netlist, value)
    if source is None:
        return None
    if source.op == "mux":
        return [source.args[0][0]], list(source.args[1:])
    if source.op == "choose" and not any(source.param) and all(len(one) == len(value) for one in source.args[2::2]):
        return [one[0] for one in source.args[1::2]], [source.args[0], *source.args[2::2]]
    return None


class _Reach:
    """Which cells and ports timers reach at all, whatever the values are."""

    def __init__(self, netlists: Mapping[str, Netlist]):
        self.netlists = netlists
        self.timers = {name: timers_of(netlist) for name, netlist in netlists.items()}
        self.ports: dict[str, set[str]] = {name: set() for name in netlists}
        self.cells: dict[str, set[int]] = {name: set() for name in netlists}
        grown = True
        while grown:
            grown = False
            for name in netlists:
                grown |= self._pass(name)
        self._watched = {name for name in netlists if self.cells[name]}
        grown = True
        while grown:
            more = {
                name for name, netlist in netlists.items()
                if name not in self._watched and any(one.kind in self._watched for one in netlist.instances)
            }
            self._watched |= more
            grown = bool(more)

    def is_watched(self, name: str) -> bool:
        """True if a timer reaches something in a module, or in an instance in it."""
        return name in self._watched

    def _pass(self, name: str) -> bool:
        netlist, reached = self.netlists[name], set(self.timers[name])
        grown = False
        for number, cell in enumerate(netlist.cells):
            if cell.op == "input" and cell.param in self.ports[name]:
                reached.add(number)
            elif cell.op == "part_out":
                instance, port = cell.param
                if port in self.ports[netlist.instances[instance].kind]:
                    reached.add(number)
            elif cell.op not in SOURCES and any(net >> 16 in reached for value in cell.args for net in value):
                reached.add(number)
                kind, port = name, cell.param
                if cell.op == "part_in":
                    kind, port = netlist.instances[cell.param[0]].kind, cell.param[1]
                if cell.op in ("output", "part_in") and port not in self.ports[kind]:
                    self.ports[kind].add(port)
                    grown = True
        self.cells[name] = reached
        return grown


@dataclass
class _Shadows:
    """Of each cell that a timer can reach, the net that says whether it does now."""

    of: dict[int, int]

    def of_value(self, value: Value) -> set[int]:
        return {self.of[number] for number in {net >> 16 for net in value} if number in self.of}


class _Watched:
    """Makes a netlist anew, with the logic that says what timers reach."""

    def __init__(self, netlist: Netlist, reach: _Reach, name: str):
        self.old, self.reach, self.name = netlist, reach, name
        self.result = Netlist(
            modules=netlist.modules, memories=netlist.memories, instances=netlist.instances,
            inputs=dict(netlist.inputs), outputs=dict(netlist.outputs), keeps_names=netlist.keeps_names,
        )
        self._now: dict[int, int] = {0: 0, 1: 1}
        self._number: dict[int, int] = {}
        self._shadows = _Shadows({})
        self._timers = reach.timers[name]
        self._is_top = name == next(iter(reach.netlists))
        self._restless: set[int] = set()
        self._known: dict[tuple[str, tuple[Value, ...]], int] = {}
        self._make()

    def _make(self) -> None:
        old, result = self.old, self.result
        for number, cell in enumerate(old.cells):
            if cell.op in SOURCES:
                self._add(number, cell, ())
        self._sources()
        for number, cell in enumerate(old.cells):
            if cell.op in SOURCES or cell.op == "none":
                continue
            self._add(number, cell, tuple(map(self._value, cell.args)))
            if number in self.reach.cells[self.name]:
                self._follow(number, cell)
        for number, cell in old.of("ff"):
            value = self._value(cell.args[0])
            result.cells[self._number[number]].args = (value,)
            if number in self._timers:
                self._restless.add(self._unsteady(number, cell.args[0]))
            else:
                self._restless |= self._shadows.of_value(cell.args[0])
        result.names = {
            name: {bit: self._now[net] for bit, net in bits.items()} for name, bits in old.names.items()
        }
        result.timers = {self._number[number]: step for number, step in self._timers.items()}
        result.outputs[RESTLESS] = 1
        result.add("output", 0, ((self._any(self._restless, 0),),), 0, RESTLESS)

    def _add(self, number: int, cell: Cell, args: tuple[Value, ...]) -> None:
        out = self.result.add(cell.op, cell.width, args, cell.module, cell.param)
        self._number[number] = len(self.result.cells) - 1
        for bit, net in enumerate(out):
            self._now[number << 16 | bit] = net

    def _value(self, value: Value) -> Value:
        now = self._now
        return tuple([now[net] for net in value])

    def _sources(self) -> None:
        """Where timers begin: registers, ports, and instances within."""
        old, shadows = self.old, self._shadows.of
        reached = self.reach.ports
        for port in sorted(reached[self.name] & set(old.inputs)):
            shadow, = self.result.add("input", 1, (), 0, port + _SUFFIX)
            self.result.inputs[port + _SUFFIX] = 1
            shadows |= {number: shadow for number, cell in old.of("input") if cell.param == port}
        for number in self._timers:
            shadows[number] = 1
        outs: dict[tuple[int, str], int] = {}
        for number, cell in list(old.of("part_out")):
            instance, port = cell.param
            if port in reached[old.instances[instance].kind]:
                if (instance, port) not in outs:
                    outs[instance, port], = self.result.add("part_out", 1, (), cell.module, (instance, port + _SUFFIX))
                shadows[number] = outs[instance, port]
        for instance, one in enumerate(old.instances):
            if self.reach.is_watched(one.kind):
                self._restless |= set(self.result.add("part_out", 1, (), one.module, (instance, RESTLESS)))

    def _follow(self, number: int, cell: Cell) -> None:
        """The shadow of a cell that a timer can reach, or what a sink has of it."""
        shadows, module = self._shadows, cell.module
        if cell.op == "output" and self._is_top:
            self._restless |= shadows.of_value(cell.args[0])
        elif cell.op == "output":
            port = cell.param + _SUFFIX
            self.result.outputs[port] = 1
            self.result.add("output", 0, ((self._any(shadows.of_value(cell.args[0]), module),),), module, port)
        elif cell.op == "part_in":
            instance, port = cell.param
            shadow = self._any(shadows.of_value(cell.args[0]), module)
            self.result.add("part_in", 0, ((shadow,),), module, (instance, port + _SUFFIX))
        elif cell.op == "write":
            self._restless |= self._writes(cell)
        elif cell.op == "assert":
            self._restless |= shadows.of_value(cell.args[0])
        else:
            shadows.of[number] = self._shadow(cell)

    def _writes(self, cell: Cell) -> set[int]:
        reached = set()
        for address, data, enable in zip(cell.args[::3], cell.args[1::3], cell.args[2::3], strict=True):
            reached |= self._shadows.of_value(enable)
            what = self._shadows.of_value(address) | self._shadows.of_value(data)
            if what:
                writes = self._any(set(self._value(enable)), cell.module)
                reached.add(self._and(writes, self._any(what, cell.module), cell.module))
        return reached

    def _shadow(self, cell: Cell) -> int:
        args, module = cell.args, cell.module
        of = [self._any(self._shadows.of_value(value), module) for value in args]
        if cell.op == "and":
            return self._logic(cell, of, level=1)
        if cell.op == "or":
            return self._logic(cell, of, level=0)
        if cell.op == "mux":
            return self._either(of[0], self._mux(self._value(args[0])[0], of[1], of[2], module), module)
        if cell.op == "choose":
            return self._chosen(cell, of)
        if cell.op in ("shl", "shr", "sar"):  # of nothing they make nothing
            some = self._any(set(self._value(args[0])), module)
            return self._either(of[0], self._and(of[1], some, module), module)
        if cell.op == "read":
            enable = self._value(args[1])[0]
            return self._either(of[1], self._and(enable, of[0], module), module)
        return self._any(set(of), module)

    def _logic(self, cell: Cell, of: list[int], *, level: int) -> int:
        """Of an `and` (`level` 1) or an `or`: a timer in one value reaches the output where the other lets it pass, or
        may do so because of a timer.
        """
        module, result = cell.module, self._and(of[0], of[1], cell.module)
        for shadow, other in ((of[0], cell.args[1]), (of[1], cell.args[0])):
            if shadow:
                value = self._value(other)
                passes = self._any(set(value), module) if level else (
                    self._op("not", (value,), module) if cell.width == 1 else 1)
                result = self._either(result, self._and(shadow, passes, module), module)
        return result

    def _chosen(self, cell: Cell, of: list[int]) -> int:
        """A later value takes the place of earlier ones, as far as it is as wide."""
        module, result = cell.module, of[0]
        for start, index in zip(cell.param, range(1, len(of), 2), strict=True):
            condition = self._value(cell.args[index])[0]
            is_whole = start == 0 and len(cell.args[index + 1]) == cell.width
            chosen = self._mux(condition, of[index + 1], result, module) if is_whole else \
                self._either(result, self._and(condition, of[index + 1], module), module)
            result = self._either(of[index], chosen, module)
        return result

    def _unsteady(self, register: int, value: Value) -> int:
        """True if a timer takes something else next than itself and a constant, or follows a timer."""
        module = self.old.cells[register].module
        below = _choices(self.old, value)
        if below is None:
            return int(not _step(self.old, register, value))
        conditions, values = below
        steady = [self._unsteady(register, one) for one in values]
        if len(values) == 2 and len(conditions) == 1 and self.old.cells[value[0] >> 16].op == "mux":
            result = self._mux(self._now[conditions[0]], steady[0], steady[1], module)
        else:
            result = steady[0]
            for condition, one in zip(conditions, steady[1:], strict=True):
                result = self._mux(self._now[condition], one, result, module)
        return self._any({result} | self._shadows.of_value(tuple(conditions)), module)

    # Gates of one bit.

    def _op(self, op: str, args: tuple[Value, ...], module: int) -> int:
        key = op, args
        if key not in self._known:
            self._known[key], = self.result.add(op, 1, args, module)
        return self._known[key]

    def _any(self, nets: set[int], module: int) -> int:
        nets = nets - {0}
        if 1 in nets or len(nets) < 2:
            return 1 if 1 in nets else next(iter(nets), 0)
        return self._op("any", (tuple(sorted(nets)),), module)

    def _either(self, a: int, b: int, module: int) -> int:
        return self._any({a, b}, module)

    def _and(self, a: int, b: int, module: int) -> int:
        if 0 in (a, b):
            return 0
        if 1 in (a, b) or a == b:
            return b if a == 1 else a
        return self._op("and", ((a,), (b,)), module)

    def _mux(self, condition: int, yes: int, no: int, module: int) -> int:
        if yes == no or condition < 2:
            return yes if condition else no
        if no == 0:
            return self._and(condition, yes, module)
        if yes == 0:
            return self._and(self._op("not", ((condition,),), module), no, module)
        return self._op("mux", ((condition,), (yes,), (no,)), module)
