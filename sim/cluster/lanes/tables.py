"""Tables of a design, as ``design.h`` has them: what there is beside the code of the parts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rtl.simulation import ClusterPorts
from sim.cluster.lanes.code import Module
from sim.cluster.lanes.layout import WORD, n_words
from sim.cluster.lanes.netlist import Instance


@dataclass(frozen=True, slots=True)
class Placed:
    """An instance in the whole design: its module, path, the number of the instance around it, and its own there."""

    module: str
    path: tuple[str, ...]
    around: int
    slot: int


def placed(modules: Mapping[str, Module], top: str) -> list[Placed]:
    """All instances of a design, the top first."""
    found = [Placed(top, (), -1, 0)]
    for number in range(1 << 30):
        if number == len(found):
            return found
        inside: Sequence[Instance] = modules[found[number].module].netlist.instances
        found += [Placed(one.kind, (*found[number].path, *one.path), number, slot) for slot, one in enumerate(inside)]
    raise AssertionError("designs have fewer instances")


def tables(
    modules: Mapping[str, Module], top: str, *, lanes: int, symbol: str, ports: ClusterPorts, flit_bytes: int,
) -> str:
    """C++ text with the tables of the design of module `top`, as constant `symbol`.

    Parameters
    ----------
    modules : mapping of str to Module
        All modules.
    top : str
        The one that is no instance.
    lanes : int
        Nodes in a word.
    symbol : str
        Name of the constant.
    ports : ClusterPorts
        What the cluster calls the ports, and which it wants that the design has not.
    flit_bytes : int
        Of its links.
    """
    numbers = {name: index for index, name in enumerate(modules)}
    text = ['#include "design.h"', f"namespace conic::lanes::{symbol}_parts {{"]
    for name, module in modules.items():
        text += _module(module, numbers[name], lanes)
    instances = placed(modules, top)
    rows = ",\n".join(
        f"    {{&module{numbers[one.module]}, {_quoted('.'.join(one.path))}, {one.around}, {one.slot}}}"
        for one in instances
    )
    text.append(f"static const InstanceCode instances[] = {{\n{rows}\n}};")
    followers = list(_followers(modules, instances))
    text.append(_array("Follower", "followers", followers))
    rows_of_ports, marks, n_inputs, input_bytes, pin_bytes = _ports(modules[top], ports)
    text += [_array("Mark", "marks", marks), _array("PortCode", "ports", rows_of_ports)]
    stages = max(module.division.n_stages for module in modules.values())
    text.append(
        f"}}\nnamespace conic::lanes {{\nusing namespace {symbol}_parts;\nextern const Design {symbol};\n"
        f"const Design {symbol} = {{{_quoted(top)}, {stages}, {len(instances)}, "
        f"{len(followers)}, {len(rows_of_ports)}, instances, followers, ports, {n_inputs}, {input_bytes}, {pin_bytes}, "
        f"{flit_bytes}, {int(bool(ports.names))}}};\n}}\n"
    )
    return "\n".join(text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _array(kind: str, name: str, rows: Sequence[str]) -> str:
    # C++ has no arrays of nothing.
    return f"static const {kind} {name}[] = {{\n" + ",\n".join(f"    {row}" for row in rows or ("{}",)) + "\n};"


def part_symbol(module: int, part: int) -> str:
    """Name of the function of a part."""
    return f"part{module}_{part}"


def write_symbol(module: int, part: int) -> str:
    """Name of the function with the writes of a part."""
    return f"write{module}_{part}"


def has_writes(module: Module, part: int) -> bool:
    return any(module.netlist.cells[number].op == "write" for number in module.division.parts[part].cells)


def _module(module: Module, number: int, lanes: int) -> Iterator[str]:
    layout, division, netlist = module.layout, module.division, module.netlist
    at_bit = {bit: part for part, bit in enumerate(layout.bits)}
    order = [at_bit.get((word, bit)) for word in range(layout.n_activity) for bit in range(WORD)]
    for part in range(len(division.parts)):
        yield f"void {part_symbol(number, part)}(char*);"
        if has_writes(module, part):
            yield f"void {write_symbol(number, part)}(char*);"
    yield _array("Function", f"parts{number}", [
        "nullptr" if part is None else part_symbol(number, part) for part in order
    ])
    yield _array("Function", f"writes{number}", [
        write_symbol(number, part) if part is not None and has_writes(module, part) else "nullptr" for part in order
    ])
    yield _array("Run", f"runs{number}", [
        "{}" if part is None else "{{{0.masks}, {0.next_masks}, {0.n_masks}, {0.words}, {0.next_words}, {0.n_words}}}"
        .format(layout.runs[part]) for part in order
    ])
    ends = [str(words.stop) for words in layout.stage_words]
    yield f"static const std::uint32_t ends{number}[] = {{{', '.join(ends)}}};"
    for index, memory in enumerate(netlist.memories):
        starts = [
            f"{{{address}, {word}, {value >> WORD * word & (1 << WORD) - 1:#x}ull}}"
            for address, value in enumerate(memory.init) if value for word in range(n_words(memory.width))
        ]
        yield _array("MemoryStart", f"memory{number}_{index}", starts)
        yield f"constexpr unsigned n_memory{number}_{index} = {len(starts)};"
    yield _array("MemoryCode", f"memories{number}", [
        f"{{{_quoted(memory.name)}, {memory.depth}ull, {n_words(memory.width)}, {memory.width}, "
        f"n_memory{number}_{index}, memory{number}_{index}}}" for index, memory in enumerate(netlist.memories)
    ])
    starts, asserts, registers = _starts(module, lanes), _assertions(module), _registers(module, lanes)
    marks, timers = _timers(module, number)
    yield _array("Mark", f"followers{number}", marks)
    yield _array("TimerCode", f"timers{number}", timers)
    yield _array("Start", f"starts{number}", starts)
    yield _array("AssertionCode", f"assertions{number}", asserts)
    yield _array("RegisterCode", f"registers{number}", registers)
    yield (
        f"static const ModuleCode module{number} = {{{_quoted(module.name)}, {layout.size}, {layout.n_activity}, "
        f"{division.n_stages}, ends{number}, parts{number}, runs{number}, writes{number}, {layout.children}, "
        f"{layout.listeners}, {layout.memories}, {layout.alarm}, {layout.moved}, {len(netlist.outputs)}, "
        f"{len(netlist.memories)}, {len(starts)}, {len(asserts)}, {len(registers)}, {len(timers)}, "
        f"memories{number}, starts{number}, assertions{number}, registers{number}, timers{number}, "
        f"{layout.masks[0]}, {layout.masks[1]}, {layout.words[0]}, {layout.words[1]}}};"
    )


def _starts(module: Module, lanes: int) -> list[str]:
    rows = []
    for number, cell in module.netlist.of("ff"):
        at = module.layout.present[number]
        for word in range(n_words(cell.width)):
            there = at + 8 * lanes * word
            width = min(WORD, cell.width - WORD * word)
            if cell.param is None:
                rows.append(f"{{{there}, {int(cell.width == 1)}, {width}, 0}}")
            elif value := cell.param >> WORD * word & (1 << WORD) - 1:
                rows.append(f"{{{there}, {int(cell.width == 1)}, 0, {value:#x}ull}}")
    return rows


def _marks(module: Module, number: int) -> list[str]:
    """Of the parts that look at a source: rows for each word of activity."""
    words: dict[int, int] = {}
    for part in module.division.readers.get(number, set()):
        word, bit = module.layout.bits[part]
        words[word] = words.get(word, 0) | 1 << bit
    return [f"{{{word}, {bits:#x}ull}}" for word, bits in sorted(words.items())]


def _timers(module: Module, number: int) -> tuple[list[str], list[str]]:
    """Rows of marks and of timers of module `number`."""
    marks: list[str] = []
    rows = []
    for timer, step in module.netlist.timers.items():
        own = _marks(module, timer)
        at, width = module.layout.present[timer], module.netlist.cells[timer].width
        rows.append(f"{{{at}, {width}, {step:#x}ull, {len(own)}, followers{number} + {len(marks)}}}")
        marks += own
    return marks, rows


def _assertions(module: Module) -> list[str]:
    return [
        f"{{{at}, {_quoted(module.netlist.cells[number].param)}}}" for number, at in module.layout.assertions.items()
    ]


def _registers(module: Module, lanes: int) -> list[str]:
    """Runs of bits that stand beside each other in a name and in a word."""
    rows = []
    for name, all_bits in module.netlist.names.items():
        # Nets driven by an instance have their names there, so they are left out here.
        bits = {bit: net for bit, net in all_bits.items() if net >> 16 in module.layout.present}
        order = sorted(bits)
        first = order[0] if order else 0
        for index, bit in enumerate(order):
            net, begin = bits[bit], bits[first]
            following = order[index + 1] if index + 1 < len(order) else None
            if following is not None and following == bit + 1 and bits[following] == net + 1 and (
                (net + 1) >> 16 == begin >> 16 and (net + 1 & 0xFFFF) // WORD == (begin & 0xFFFF) // WORD
            ):
                continue
            place, number = begin & 0xFFFF, begin >> 16
            at = module.layout.present[number] + 8 * lanes * (place // WORD)
            is_mask = int(module.netlist.cells[number].width == 1)
            rows.append(f"{{{_quoted(name)}, {first}, {bit - first + 1}, {at}, {place % WORD}, {is_mask}}}")
            if following is not None:
                first = following
    return rows


def _followers(modules: Mapping[str, Module], instances: Sequence[Placed]) -> Iterator[str]:
    for number, one in enumerate(instances):
        if one.around < 0:
            continue
        around = modules[instances[one.around].module]
        outputs = list(modules[one.module].netlist.outputs)
        for cell_number, cell in around.netlist.of("part_out"):
            slot, port = cell.param
            if slot != one.slot:
                continue
            marks: dict[int, int] = {}
            for part in around.division.readers.get(cell_number, set()):
                word, bit = around.layout.bits[part]
                marks[word] = marks.get(word, 0) | 1 << bit
            for word, bits in sorted(marks.items()):
                yield f"{{{number}, {outputs.index(port)}, {word}, {bits:#x}ull}}"


def _ports(top: Module, ports: ClusterPorts) -> tuple[list[str], list[str], int, int, int]:
    """Rows of ports and of marks; inputs, bytes of their pins, bytes of all pins."""
    netlist, layout = top.netlist, top.layout
    cell_of = {cell.param: number for number, cell in netlist.of("input")}
    rows: list[str] = []
    marks: list[str] = []
    at = 0
    inputs = [*netlist.inputs.items(), *((name, 1) for name in ports.ignored)]
    for name, width in inputs:
        size = pin_bytes(width)
        at = -(-at // min(size, 8)) * min(size, 8)
        first, place = len(marks), 0
        if name in cell_of:
            place = layout.present[cell_of[name]]
            marks += _marks(top, cell_of[name])
        rows.append(
            f"{{{_quoted(ports.outside(name))}, {width}, 0, {place}, {at}, {size}, {len(marks) - first}, "
            f"marks + {first}}}"
        )
        at += size
    input_bytes = at = -(-at // WORD) * WORD
    for name, width in [*netlist.outputs.items(), *((name, 1) for name in ports.constant)]:
        size = pin_bytes(width)
        at = -(-at // min(size, 8)) * min(size, 8)
        place = layout.outputs.get(name, 0)
        # Outputs that the design has not: `marks` says their value.
        fixed = ports.constant.get(name, 0)
        rows.append(f"{{{_quoted(ports.outside(name))}, {width}, 1, {place}, {at}, {size}, {fixed}, nullptr}}")
        at += size
    return rows, marks, len(inputs), input_bytes, -(-at // WORD) * WORD


def pin_bytes(width: int) -> int:
    """Bytes of a pin."""
    if width > WORD:
        return 4 * -(-width // 32)
    return next(size for size in (1, 2, 4, 8) if width <= 8 * size)
