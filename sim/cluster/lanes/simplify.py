"""Takes out of a netlist what need not be evaluated: constants, doubles, and by way of used.py what nobody looks at."""

from collections.abc import Callable
from typing import Any

from sim.cluster.lanes.netlist import SINKS, SOURCES, Netlist, Value
from sim.cluster.lanes.order import in_order
from sim.cluster.lanes.used import used_only

_ZERO: Value = (0,)
_ONE: Value = (1,)


def simplified(netlist: Netlist) -> Netlist:
    """The same registers, memories, assertions and outputs, with fewer operations; in an order in which each cell
    follows only cells before it, sources first.

    Registers that nothing follows are left out.
    """
    made = _Forward(netlist).result
    return used_only(made)


class _Forward:
    """Makes the netlist anew, cell by cell in order, each as simple as its arguments allow."""

    def __init__(self, netlist: Netlist):
        self.old = netlist
        self.result = Netlist(
            modules=netlist.modules, memories=netlist.memories, instances=netlist.instances,
            inputs=netlist.inputs, outputs=netlist.outputs,
            keeps_names=netlist.keeps_names,
        )
        self._now: dict[int, int] = {0: 0, 1: 1}
        self._known: dict[Any, Value] = {}
        registers = []
        for number, cell in enumerate(netlist.cells):
            if cell.op in SOURCES:
                self._bind(number, self.result.add(cell.op, cell.width, (), cell.module, cell.param))
                if cell.op == "ff":
                    registers.append(number)
        for number in in_order(netlist):
            cell = netlist.cells[number]
            args = tuple(map(self._value, cell.args))
            if cell.op in SINKS:
                if cell.op != "assert" or args != (_ZERO,):
                    self.result.add(cell.op, 0, args, cell.module, cell.param)
            else:
                self._bind(number, self._made(cell.op, cell.width, args, cell.module, cell.param))
        for number in registers:
            there = self._now[number << 16] >> 16
            self.result.cells[there].args = (self._value(netlist.cells[number].args[0]),)
        self.result.names = {
            name: {bit: self._now[net] for bit, net in bits.items()} for name, bits in netlist.names.items()
        }

    def _bind(self, number: int, value: Value) -> None:
        first = number << 16
        for bit, net in enumerate(value):
            self._now[first + bit] = net

    def _value(self, value: Value) -> Value:
        now = self._now
        return tuple([now[net] for net in value])

    def _made(self, op: str, width: int, args: tuple[Value, ...], module: int, param: Any) -> Value:
        """Output of an operation on values of the result: of a new cell, or of what does the same."""
        rule = _RULES.get(op)
        if rule is not None:
            found = rule(self, width, args, module, param)
            if found is not None:
                return found
        key = (op, args, param)
        out = self._known.get(key)
        if out is None:
            out = self._known[key] = self.result.add(op, width, args, module, param)
        return out

    def _inverse(self, net: int, module: int) -> int:
        if net < 2:
            return 1 - net
        cell = self.result.cells[net >> 16]
        if cell.op == "not":
            return cell.args[0][net & 0xFFFF]
        return self._made("not", 1, ((net,),), module, None)[0]

    # Rules: the output, or None if a cell is needed.

    def _not(self, width: int, args: tuple[Value, ...], _module: int, _param: Any) -> Value | None:
        value, = args
        if max(value) < 2:
            return tuple(1 - net for net in value)
        if width == 1 and self.result.cells[value[0] >> 16].op == "not":
            return (self._inverse(value[0], 0),)
        return None

    def _and(self, width: int, args: tuple[Value, ...], _module: int, _param: Any) -> Value | None:
        a, b = args
        if a == b:
            return a
        for one, other in ((a, b), (b, a)):
            if max(one) < 2:
                return tuple(net if bit else 0 for bit, net in zip(one, other, strict=True))
        if width == 1 and self._opposite(a[0], b[0]):
            return _ZERO
        return None

    def _or(self, width: int, args: tuple[Value, ...], _module: int, _param: Any) -> Value | None:
        a, b = args
        if a == b:
            return a
        for one, other in ((a, b), (b, a)):
            if max(one) < 2:
                return tuple(1 if bit else net for bit, net in zip(one, other, strict=True))
        if width == 1 and self._opposite(a[0], b[0]):
            return _ONE
        return None

    def _xor(self, width: int, args: tuple[Value, ...], module: int, _param: Any) -> Value | None:
        a, b = args
        if a == b:
            return (0,) * width
        if width == 1:
            for one, other in ((a, b), (b, a)):
                if one[0] < 2:
                    return (self._inverse(other[0], module),) if one[0] else other
        elif max(a) == 0 or max(b) == 0:
            return b if max(a) == 0 else a
        return None

    def _opposite(self, a: int, b: int) -> bool:
        cells = self.result.cells
        return any(
            one > 1 and cells[one >> 16].op == "not" and cells[one >> 16].args[0][one & 0xFFFF] == other
            for one, other in ((a, b), (b, a))
        )

    def _mux(self, width: int, args: tuple[Value, ...], module: int, _param: Any) -> Value | None:
        (condition,), yes, no = args
        if condition < 2 or yes == no:
            return yes if condition else no
        if width > 1:
            if max(no) == 0 and max(yes) < 2:
                return tuple(condition if bit else 0 for bit in yes)
            return None
        return self._bit_mux(condition, yes[0], no[0], module)

    def _bit_mux(self, condition: int, yes: int, no: int, module: int) -> Value | None:
        if yes < 2 and no < 2:
            return (condition if yes else self._inverse(condition, module),)
        if yes < 2 or yes == condition:
            op, one, other = ("or", condition, no) if yes else ("and", self._inverse(condition, module), no)
        elif no < 2 or no == condition:
            op, one, other = ("or", self._inverse(condition, module), yes) if no == 1 else ("and", condition, yes)
        else:
            return None
        return self._made(op, 1, ((one,), (other,)), module, None)

    def _choose(self, width: int, args: tuple[Value, ...], module: int, param: Any) -> Value | None:
        default = args[0]
        steps: list[tuple[int, int, Value]] = []
        for start, (condition,), value in zip(param, args[1::2], args[2::2], strict=True):
            if condition == 0 or start >= width:
                continue
            value = value[:width - start]
            if condition == 1 and not steps:
                default = default[:start] + value + default[start + len(value):]
            elif condition == 1 and len(value) == width:
                default, steps = value, []
            else:
                steps.append((start, condition, value))
        if width == 1:
            out: int = default[0]
            for _start, condition, (net,) in steps:
                out, = self._made("mux", 1, ((condition,), (net,), (out,)), module, None)
            return (out,)
        if not steps:
            return default
        if len(steps) == 1 and len(steps[0][2]) == width:
            return self._made("mux", width, ((steps[0][1],), steps[0][2], default), module, None)
        flat: list[Value] = [default]
        for _start, condition, value in steps:
            flat += [(condition,), value]
        starts = tuple(start for start, _condition, _value in steps)
        if (tuple(flat), starts) == (args, param):
            return None
        return self._made("choose", width, tuple(flat), module, starts)

    def _any(self, _width: int, args: tuple[Value, ...], module: int, _param: Any) -> Value | None:
        bits = tuple(dict.fromkeys(net for net in args[0] if net))
        if 1 in bits:
            return _ONE
        if len(bits) < 3:
            return self._few("or", bits, 0, module)
        return None if bits == args[0] else self._made("any", 1, (bits,), module, None)

    def _all(self, _width: int, args: tuple[Value, ...], module: int, _param: Any) -> Value | None:
        bits = tuple(dict.fromkeys(net for net in args[0] if net != 1))
        if 0 in bits:
            return _ZERO
        if len(bits) < 3:
            return self._few("and", bits, 1, module)
        return None if bits == args[0] else self._made("all", 1, (bits,), module, None)

    def _odd(self, _width: int, args: tuple[Value, ...], module: int, _param: Any) -> Value | None:
        bits = tuple(net for net in args[0] if net > 1)
        if len(bits) < len(args[0]):
            out, = self._made("odd", 1, (bits,), module, None) if bits else _ZERO
            return (self._inverse(out, module),) if args[0].count(1) % 2 else (out,)
        return self._few("xor", bits, 0, module) if len(bits) < 3 else None

    def _few(self, op: str, bits: Value, empty: int, module: int) -> Value:
        if len(bits) < 2:
            return bits or (empty,)
        return self._made(op, 1, ((bits[0],), (bits[1],)), module, None)

    def _eq(self, _width: int, args: tuple[Value, ...], module: int, _param: Any) -> Value | None:
        pairs = [(a, b) for a, b in zip(*args, strict=True) if a != b]
        if not pairs:
            return _ONE
        if any(a < 2 and b < 2 for a, b in pairs):
            return _ZERO
        if len(pairs) == 1:
            (a, b), = pairs
            if a > 1 and b > 1:
                a, = self._made("xor", 1, ((a,), (b,)), module, None)
                return (self._inverse(a, module),)
            net, bit = (a, b) if b < 2 else (b, a)
            return (net if bit else self._inverse(net, module),)
        if len(pairs) < len(args[0]):
            return self._made("eq", 1, (tuple(a for a, _ in pairs), tuple(b for _, b in pairs)), module, None)
        return None

    def _match(self, _width: int, args: tuple[Value, ...], module: int, param: Any) -> Value | None:
        value, = args
        if max(value, default=0) < 2:
            number = sum(net << bit for bit, net in enumerate(value))
            return (int(any(number & mask == bits for mask, bits in param)),)
        if any(not mask for mask, _bits in param):
            return _ONE
        if len(param) == 1:
            (mask, bits), = param
            looked = [bit for bit in range(len(value)) if mask >> bit & 1]
            nets = tuple(value[bit] for bit in looked)
            return self._made("eq", 1, (nets, tuple(bits >> bit & 1 for bit in looked)), module, None)
        return None

    def _less(self, _width: int, args: tuple[Value, ...], module: int, _param: Any) -> Value | None:
        a, b = args
        n = len(a)
        while n > 1 and a[n - 1] == b[n - 1] == 0:
            n -= 1
        if a == b:
            return _ZERO
        return self._made("ult", 1, (a[:n], b[:n]), module, None) if n < len(a) else None

    def _not_greater(self, _width: int, args: tuple[Value, ...], module: int, _param: Any) -> Value | None:
        less, = self._made("ult", 1, args[::-1], module, None)
        return (self._inverse(less, module),)

    def _plus(self, width: int, args: tuple[Value, ...], _module: int, _param: Any) -> Value | None:
        a, b = args
        return a if not any(b) else b if not any(a) else None

    def _minus(self, width: int, args: tuple[Value, ...], _module: int, _param: Any) -> Value | None:
        return args[0] if not any(args[1]) else None

    def _times(self, width: int, args: tuple[Value, ...], _module: int, _param: Any) -> Value | None:
        for one, other in (args, args[::-1]):
            if max(one) < 2 and sum(one) < 2:  # a power of two, or nothing
                return ((0,) * one.index(1) + other)[:width] if any(one) else (0,) * width
        return None

    def _shift(self, op: str, width: int, args: tuple[Value, ...], module: int) -> Value | None:
        value, amount = args
        if not amount:
            return value
        while len(amount) > 1 and amount[-1] == 0:
            amount = amount[:-1]
        fill = value[-1] if op == "sar" else 0
        if max(amount) < 2:
            count = min(sum(net << bit for bit, net in enumerate(amount)), width)
            if op == "shl":
                return ((0,) * count + value)[:width]
            return value[count:] + (fill,) * count
        return self._made(op, width, (value, amount), module, None) if amount != args[1] else None

    def _left(self, width: int, args: tuple[Value, ...], module: int, _param: Any) -> Value | None:
        return self._shift("shl", width, args, module)

    def _right(self, width: int, args: tuple[Value, ...], module: int, _param: Any) -> Value | None:
        return self._shift("shr", width, args, module)

    def _signed_right(self, width: int, args: tuple[Value, ...], module: int, _param: Any) -> Value | None:
        return self._shift("sar", width, args, module)

    def _alias(self, _width: int, args: tuple[Value, ...], _module: int, _param: Any) -> Value:
        return args[0]


_Rule = Callable[[_Forward, int, tuple[Value, ...], int, Any], Value | None]
_RULES: dict[str, _Rule] = {
    "not": _Forward._not, "and": _Forward._and, "or": _Forward._or, "xor": _Forward._xor, "mux": _Forward._mux,
    "choose": _Forward._choose, "any": _Forward._any, "all": _Forward._all, "odd": _Forward._odd, "eq": _Forward._eq,
    "match": _Forward._match, "ult": _Forward._less, "ule": _Forward._not_greater, "add": _Forward._plus,
    "sub": _Forward._minus, "mul": _Forward._times, "shl": _Forward._left, "shr": _Forward._right,
    "sar": _Forward._signed_right, "alias": _Forward._alias,
}
