"""No bit position of a register stands outside of ``firmware_models/abi``: fields are packed and read by name.

Looks for registers by their names, in Python as a syntax tree and in C and C++ by statements. What it cannot see is a
word that goes through several functions before it is taken apart.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware_models.abi import board, registers

ROOT = Path(__file__).resolve().parents[1]
PAGES = (registers.CONTROL_PAGE, registers.VP_PAGE, registers.SWITCH_PAGE, board.BOARD_PAGE)
FIELDS = {
    register.name: {field.name for field in register.fields}
    for page in PAGES for register in page if not register.is_number
}
"""Registers whose bits have names."""
WRITABLE = {register.name for page in PAGES for register in page if register.access.writable} & set(FIELDS)
MAPS = re.compile(r"_?[A-Z][A-Z_]*|page|held|shown|registers")
"""Names of tables that a register is looked up in; keys of others, such as ``entry["status"]``, are something else."""
BY_NAME = {"pack", "unpack", "word", "fields", "register_layout", "rights_word"}
"""Functions that find bits by name: what stands in a call of theirs is no position."""
OWN = ("firmware_models/abi/", "tests/firmware_models/abi/", "tests/test_register_bits.py")
"""Where positions belong: the map, and the tests that compare it with words written by hand."""
MAP_IMPORT = r"^from firmware_models\.abi(\.registers|\.board)? import .*(registers|PAGE)"
BIT_OPERATORS = (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr)
TOKENS = re.compile("|".join(
    rf"\bCONIC_(?:REG|SWITCH|VP)_{name.upper()}\b|\bk{''.join(part.title() for part in name.split('_'))}\b"
    for name in FIELDS
))
"""Addresses of these registers in C and C++."""
C_LITERAL = re.compile(r"(?:<<|>>|&|\|)\s*(?:0[xX][0-9a-fA-F]+|\d+)|,\s*(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\s*\)")


def python_positions(text: str) -> Iterator[tuple[int, str]]:
    """Yields line and source of every expression that says a bit of a register by its number."""
    tree = ast.parse(text)
    decoder = all(re.search(pattern, text, re.MULTILINE) for pattern in (MAP_IMPORT, r"^from amaranth"))
    # The dictionaries of a component that decodes no registers are signatures and layouts: not words that are written.
    is_component = not decoder and re.search(r"^from amaranth\.lib import .*wiring", text, re.MULTILINE)
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            continue
        words = _words(scope, decoder=decoder)
        for node in _own_nodes(scope):
            if is_component and isinstance(node, ast.Dict):
                continue
            if _says_position(node, words, decoder=decoder):
                yield node.lineno, ast.unparse(node)


def c_positions(text: str) -> Iterator[tuple[int, str]]:
    """The same in C and C++."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda found: "\n" * found.group().count("\n"), text, flags=re.DOTALL)
    line = 1
    for statement in text.split(";"):
        rest = re.sub(r"\bCONIC_[SG]ET\((?:[^()]|\([^()]*\))*\)", "by_name", statement)
        if TOKENS.search(rest) and C_LITERAL.search(rest):
            yield line + statement.count("\n"), " ".join(statement.split())
        line += statement.count("\n")


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of functions in it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from _own_nodes(child)


def _words(scope: ast.AST, *, decoder: bool) -> set[str]:
    """Variables that hold the word of such a register: read by name, or what a bus writes."""
    found = set()
    for node in _own_nodes(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = node.value.value if isinstance(node.value, ast.Await) else node.value
            if (isinstance(value, ast.Call) and _mentions(value)) or (decoder and _is_bus_word(value)):
                found.add(node.targets[0].id)
    return found


def _says_position(node: ast.AST, words: set[str], *, decoder: bool) -> bool:
    match node:
        case ast.Call(args=[ast.Dict() as fields]) if ast.unparse(node.func).endswith("StructLayout"):
            return _is_layout(fields)
        case ast.Call(func=func, args=args) if not _by_name(func):
            first = next((k for k, arg in enumerate(args) if _mentions(arg)), None)
            return first is not None and any(_is_literal(arg) for arg in args[first + 1:])
        case ast.Dict(keys=keys, values=values):
            return any(getattr(key, "value", None) in WRITABLE and _is_literal(value)
                       for key, value in zip(keys, values, strict=True))
        case ast.Tuple(elts=[ast.Constant(value=str(name)), value]) if name in WRITABLE:
            return _is_literal(value)
        case ast.Compare(left=left, comparators=[right]):
            return _mentions(left) and _is_literal(right)
        case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, BIT_OPERATORS):
            return _is_word(left, words, decoder=decoder) and (_has_number(right) or not _is_bus_word(left))
        case ast.Subscript(value=value, slice=index):
            return _has_number(index) and _is_word(value, words, decoder=decoder)
    return False


def _is_word(node: ast.AST, words: set[str], *, decoder: bool) -> bool:
    node = node.value if isinstance(node, ast.Await) else node
    if isinstance(node, ast.Name) and node.id in words:
        return True
    return (decoder and _is_bus_word(node)) or (isinstance(node, ast.Call | ast.Subscript) and _mentions(node))


def _is_bus_word(node: ast.AST) -> bool:
    """True if a node is a word that a bus writes, by the names that the register files give it."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in ("data", "write_data")


def _is_layout(node: ast.Dict) -> bool:
    """The fields of a register with widths as numbers: a layout by hand."""
    widths = {key.value: value for key, value in zip(node.keys, node.values, strict=True)
              if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    return any(
        len(fields) > 1 and fields <= set(widths) and any(_has_number(widths[name]) for name in fields)
        for fields in FIELDS.values()
    )


def _by_name(func: ast.AST) -> bool:
    return (func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")) in BY_NAME


def _names(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in FIELDS


def _mentions(node: ast.AST) -> bool:
    """Names such a register for its address or its word; not for the position of a field of it."""
    match node:
        case ast.Call(func=func) if _by_name(func):
            return False
        case ast.Attribute():  # PAGE["control"].width, PAGE["control"]["enable"].low
            return False
        case ast.Subscript(value=table, slice=key) if _names(key):
            return bool(MAPS.fullmatch(getattr(table, "attr", getattr(table, "id", ""))))
    return _names(node) or any(_mentions(child) for child in ast.iter_child_nodes(node))


def _has_number(node: ast.AST) -> bool:
    return any(isinstance(child, ast.Constant) and type(child.value) is int for child in ast.walk(node))


def _is_literal(node: ast.AST) -> bool:
    """Holds a number or puts bits together."""
    match node:
        case ast.Call(func=func) if _by_name(func):
            return False
        case ast.Constant(value=value):
            return type(value) is int and value != 0  # 0 says nothing of any bit
        case ast.BinOp(op=ast.LShift() | ast.BitOr()):
            return True
    return any(_is_literal(child) for child in ast.iter_child_nodes(node))


def sources() -> Iterator[Path]:
    for folder in ("firmware_models", "rtl", "testbench", "sim", "fpga", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".c", ".h", ".cpp") and not str(path.relative_to(ROOT)).startswith(OWN):
                yield path


def test_no_position_outside_of_the_abi() -> None:
    found, n_files = [], 0
    for path in sources():
        finder = python_positions if path.suffix == ".py" else c_positions
        text = path.read_text()
        n_files += 1
        found += [f"{path.relative_to(ROOT)}:{line}: {source}" for line, source in finder(text)]
    assert n_files > 500
    assert not found, "\n".join(["bits of registers by number; use Register.pack, unpack, rtl.abi.fields:", *found])


PLANTED = (
    'host.write("control", 1)', 'await host.write(AT["group_entry"], mgid | joined << 31)',
    'await host.write(AT["group_entry"], mgid | joined)',
    'link.write(Target.BOARD, _PAGE["leds"], [passed | failed << 1])',
    'values = {"node_id": 3, "vp_commit": 1}', 'values = (("vp_select", 3), ("window_commit", 1))',
    'assert await axil.read_dword(AT["irq_status"]) == 1', 'busy = host.read("status") & 1',
    'depth = await read(REGISTERS["port_depth"])\nassert depth >> 16 * vc',
    'peak = read("port_depth_peak")\nlow = peak & 0xFFFF',
    'host.write("vp_window_rights", numbers.getrandbits(4))', 'm.d.comb += irq.eq(held["irq_enable"][0])',
    'Order = StructLayout({"memory": 2, "errors": 2, "first_bit": 8})',
    'host.write("vp_window_rights", (1 << len(Right)) - 1)',
)
DECODER = "from amaranth import Module\nfrom firmware_models.abi.registers import CONTROL_PAGE\n"
PLANTED_DECODER = (
    "m.d.comb += record.enable.eq(write_data[0])", "m.d.sync += group.eq(write.data[28:])",
    "word = write.payload.data\nm.d.comb += joined.eq(word[31])", "m.d.comb += enable.eq(write.payload.data & 1)",
)
PLANTED_C = (
    "write_register(nic, CONIC_REG_CONTROL, 1);", "write(kMftBlock, group << 28 | colour / 32);",
    "port = read(CONIC_SWITCH_PORT_CREDITS) >> 16;", "write_register(nic, CONIC_REG_VP_COMMIT,\n    0x3u);",
)
CLEAN = (
    'host.write("control", PAGE.pack("control", enable=1))', 'host.write("node_id", 3)',
    'values = {"vp_select": 3, "vp_commit": PAGE.pack("vp_commit", enable=1, keep_windows=0)}',
    'credits = PAGE["port_credits"].unpack(await read(AT["port_credits"]))["channel_0"] >> 1',
    'rights = numbers.getrandbits(PAGE["vp_window_rights"].width)',
)


@pytest.mark.parametrize("snippet", [*PLANTED, *(DECODER + snippet for snippet in PLANTED_DECODER)])
def test_planted_in_python(snippet: str) -> None:
    body = f"{snippet}\n" if snippet.startswith("from") else "async def f():\n" + "".join(
        f"    {line}\n" for line in snippet.splitlines())
    assert list(python_positions(body))


@pytest.mark.parametrize("snippet", PLANTED_C)
def test_planted_in_c(snippet: str) -> None:
    assert list(c_positions(f"void f() {{ int x; {snippet} }}"))


@pytest.mark.parametrize("snippet", CLEAN)
def test_clean_is_not_found(snippet: str) -> None:
    assert not list(python_positions(f"async def f():\n    {snippet}\n"))


@pytest.mark.parametrize("snippet", [
    "write_register(nic, CONIC_REG_CONTROL, CONIC_SET(CONIC_REG_CONTROL_ENABLE, 1));",
    "peers = read(CONIC_REG_N_VPS) & 7;", "/* bit 1 of CONIC_REG_VP_COMMIT & 2 */ write(CONIC_REG_VP_COMMIT, word);",
])
def test_clean_is_not_found_in_c(snippet: str) -> None:
    assert not list(c_positions(snippet))
