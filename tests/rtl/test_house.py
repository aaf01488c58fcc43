"""Rules of the house, counted in the sources of the RTL: none gets worse.

A rule has a limit, and what does not keep it yet is listed by name. Who mends one takes it out of the list; a new one
fails. An entry that keeps its rule fails too, so the lists cannot grow stale.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
EXCEPTIONS: dict[str, dict[str, int]] = yaml.safe_load(Path(__file__).with_name("house.yaml").read_text())
LIMITS = {"members": 15, "helper": 3, "lines": 100, "namespace": 0}
_FLOWS = {"In", "Out"}

Counts = dict[str, int]


def sources() -> Iterator[tuple[str, ast.Module]]:
    """Name of each module of the RTL, with its tree."""
    for path in sorted((ROOT / "rtl").rglob("*.py")):
        yield ".".join(path.relative_to(ROOT).with_suffix("").parts), ast.parse(path.read_text())


def members(cls: ast.ClassDef, makers: Mapping[str, ast.FunctionDef] = MappingProxyType({})) -> int:
    """Members of a component: keys of the dictionaries that its signature is made of, in the class or in a function of
    the RTL (`makers`, by name) that it calls for them, and annotated ports."""
    annotated = sum(
        isinstance(one, ast.AnnAssign) and isinstance(one.annotation, ast.Call)
        and getattr(one.annotation.func, "id", "") in _FLOWS for one in cls.body
    )
    keys: set[str] = set()
    called = [
        makers[one.func.id] for one in ast.walk(cls)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in makers
    ]
    for one in (part for made in (cls, *called) for part in ast.walk(made)):
        if isinstance(one, ast.Dict):
            keys |= {
                key.value for key, value in zip(one.keys, one.values, strict=True)
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and _is_port(value)
            }
    return annotated + len(keys)


def _is_port(value: ast.expr) -> bool:
    """True for ``In(…)``, ``Out(…)`` and arrays of them."""
    while isinstance(value, ast.Call | ast.Attribute):
        value = value.func if isinstance(value, ast.Call) else value.value
        if isinstance(value, ast.Name):
            return value.id in _FLOWS
    return False


def counted(rule: str, modules: Iterable[tuple[str, ast.Module]]) -> Counts:
    """Counts for a rule, by name; only those above its limit."""
    found: Counts = {}
    modules = list(modules)
    makers = {
        one.name: one for _, tree in modules for one in tree.body
        if isinstance(one, ast.FunctionDef) and one.name.endswith("_members")
    }
    for module, tree in modules:
        for one in ast.walk(tree):
            if rule == "members" and isinstance(one, ast.ClassDef):
                found[f"{module}.{one.name}"] = members(one, makers)
            if rule == "lines" and isinstance(one, ast.FunctionDef) and one.end_lineno is not None:
                name = f"{module}.{one.name}"
                found[name] = max(found.get(name, 0), one.end_lineno - one.lineno + 1)
            if rule == "helper" and isinstance(one, ast.FunctionDef) and _is_helper(one):
                named = [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs]
                found[f"{module}.{one.name}"] = sum(argument.arg not in ("self", "m") for argument in named)
            if rule == "namespace" and "SimpleNamespace" in (getattr(one, "id", ""), getattr(one, "attr", "")):
                found[module] = found.get(module, 0) + 1
    return {name: count for name, count in found.items() if count > LIMITS[rule]}


def _is_helper(function: ast.FunctionDef) -> bool:
    """True for a part of ``elaborate``: it gets the module."""
    return any(argument.arg == "m" for argument in function.args.args)


@pytest.mark.parametrize("rule", LIMITS)
def test_nothing_is_above_its_limit(rule: str) -> None:
    found, known = counted(rule, sources()), EXCEPTIONS[rule]
    worse = {name: count for name, count in found.items() if count > known.get(name, 0)}
    assert not worse, f"{rule}: at most {LIMITS[rule]}"
    stale = {name: count for name, count in known.items() if found.get(name, 0) < count}
    assert not stale, f"tests/rtl/house.yaml, {rule}: mended, so write what is left"


def ports(letters: str) -> str:
    """Source of a component with a port for each letter, and one more."""
    return f"class A:\n    x: In(1)\n    p = {{{', '.join(f'{letter!r}: Out(1)' for letter in letters)}}}"


@pytest.mark.parametrize(("rule", "source", "count"), [
    ("lines", "def f():\n" + "    pass\n" * 99, 0),
    ("lines", "class A:\n    def f(self):\n" + "        pass\n" * 100, 101),
    ("helper", "def f(m, a, b, *, c): pass", 0), ("helper", "def f(m, a, b, *, c, d): pass", 4),
    ("members", ports("abcdefghijklmn"), 0), ("members", ports("abcdefghijklmno"), 16),
    ("members", f"def a_members(): return {{{', '.join(f'{letter!r}: Out(1)' for letter in 'abcdefghijklmnop')}}}\n"
                "class A:\n    def f(self): return a_members()", 16),
    ("namespace", "a = SimpleNamespace()", 1), ("namespace", "a = types.SimpleNamespace()", 1),
    ("namespace", "a = dict()", 0),
])
def test_the_limits(rule: str, source: str, count: int) -> None:
    assert sum(counted(rule, [("planted", ast.parse(source))]).values()) == count


#: Classes that are given the whole configuration, each with the reason; all others take what they need.
TAKE_CONFIG = {
    "rtl.buffer.packet_buffer.PacketBuffer": "composes memories, slots and one of two tag tables",
    "rtl.cou.aggregator.Aggregator": "composes the two paths of passes, the reduce unit and the writer",
    "rtl.cou.shapes.CouShapes": "works layouts out, once, and keeps nothing of it",
    "rtl.cou.offload_unit.OffloadUnit": "composes a unit",
    "rtl.cou.operand_loader.OperandLoader": "composes queues, walks and memories by figures of the whole NIC",
    "rtl.cou.sequence_store.SequenceStore": "composes memories and the block cutter",
    "rtl.cou.trigger.Trigger": "composes the steps of the trigger",
    "rtl.nic.csr.RegisterFile": "is a map of the configuration: registers show most of it",
    "rtl.nic.nic.Nic": "composes a NIC",
    "rtl.nic.receive_path.ReceivePath": "composes the way of a virtual channel",
    "rtl.p2p.p2p.P2p": "composes the point-to-point path",
    "rtl.switch.sizes.SwitchSizes": "works sizes out, once, and keeps nothing of it",
    "rtl.switch.switch.Switch": "composes a switch",
}


def takes_config(modules: Iterable[tuple[str, ast.Module]]) -> set[str]:
    """Names of the classes whose constructor has a parameter for a configuration, or that have a field for one."""
    found = set()
    for module, tree in modules:
        for cls in (one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)):
            given = [one.annotation for one in cls.body if isinstance(one, ast.AnnAssign)]
            for function in (one for one in cls.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"):
                taken = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
                given += [one.annotation or ast.Name(one.arg.title()) for one in taken]
            if any(re.search(r"Config\b", ast.unparse(one)) for one in given):
                found.add(f"{module}.{cls.name}")
    return found


def test_parts_take_what_they_need() -> None:
    """The configuration ends where parts are composed: a part can be built without one."""
    assert takes_config(sources()) == set(TAKE_CONFIG)


@pytest.mark.parametrize(("source", "found"), [
    ("class A:\n    def __init__(self, config: Config): pass", True),
    ("class A:\n    def __init__(self, *, vc: int, settings: tree.Config | None): pass", True),
    ("class A:\n    def __init__(self, config): pass", True),
    ("class A:\n    def __init__(self, cou: CouConfig): pass", True), ("class A:\n    config: Config", True),
    ("class A:\n    def __init__(self, *, shapes: CouShapes, n_jobs: int): pass", False),
    ("class A:\n    error: ConfigError", False), ("def a(config: Config): pass", False),
])
def test_a_config_is_found(source: str, found: bool) -> None:
    assert takes_config([("planted", ast.parse(source))]) == ({"planted.A"} if found else set())


TOPS = ("rtl/nic/nic.py", "rtl/cou/offload_unit.py", "rtl/switch/switch.py")


def logic(tree: ast.Module) -> list[int]:
    """Lines of a composition in which there is logic: registers, conditions, operators on signals, choices."""
    found = []
    for one in ast.walk(tree):
        operator = isinstance(one, ast.BinOp) and isinstance(one.op, ast.BitAnd | ast.BitOr | ast.BitXor)
        inverted = isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.Invert)
        name = one.attr if isinstance(one, ast.Attribute) else one.id if isinstance(one, ast.Name) else ""
        if (operator and not _is_type(one)) or inverted or name in (
            "sync", "If", "Elif", "Else", "Switch", "FSM", "Mux", "Array", "any", "all", "xor", "Signal", "union",
        ):
            found.append(one.lineno)
    return found


def _is_type(one: ast.BinOp) -> bool:
    """True for ``X | None``."""
    return isinstance(one.op, ast.BitOr) and isinstance(one.right, ast.Constant)


@pytest.mark.parametrize("top", TOPS)
def test_tops_have_no_logic(top: str) -> None:
    assert logic(ast.parse((ROOT / top).read_text())) == []


@pytest.mark.parametrize(("source", "lines"), [
    ("m.d.sync += a.eq(b)", 1), ("with m.If(a):\n    pass", 1), ("m.d.comb += a.eq(b & c)", 1), ("a.eq(~b)", 1),
    ("a.eq(b.any())", 1), ("a.eq(Mux(b, c, d))", 1), ("a = Signal()", 1), ("m.d.comb += a.eq(Cat(b, c))", 0),
    ("def f() -> A | None: pass", 0), ("n = config.buffer_slots + 8", 0),
])
def test_logic_is_found(source: str, lines: int) -> None:
    assert len(logic(ast.parse(source))) == lines


def test_no_part_says_that_it_works() -> None:
    """The simulator finds rest by itself: no ``moves`` and no ``quiescent`` in a component."""
    assert not [
        module for module, tree in sources() for one in ast.walk(tree)
        if isinstance(one, ast.Attribute) and one.attr in ("moves", "quiescent", "quiescence")
    ]
