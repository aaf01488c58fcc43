"""The page of the host library, from its docstrings."""

import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

from . import Completion, Data, HostError, Job, NodeDriver, Operation, Port, Received, Region, Rings, Transport

USERS = (NodeDriver, Rings, Port, Region, Job, Data, Operation, Completion, Received, HostError, Transport)
"""Classes that users see, in the order in which they meet them."""
_HEAD = """# The host library

Generated from `firmware_models/host` by `make docs`.

One library has the logic of rings, doorbells and completions; cluster, boards and benches stand on it. A user opens the
NIC of a node, opens ports, registers memory, posts, rings and waits. It stands on a *transport*: registers, memories
and time of the NICs, which may be a simulated cluster (`sim.cluster.Cluster`) or a board behind a serial line
(`sim.board.Board`). What the rings hold, and who may overwrite what when, is in [queues](queues.md); a driver in C for
bare metal is in [from Verilog to a block design](integration.md#the-driver-in-c).

An example to copy, [`sim/example/host_library.py`](../sim/example/host_library.py), which a test runs:

```python
{example}```
"""


def host_page(example: Path) -> str:
    """The page in Markdown, with the text of an example."""
    text = example.read_text()
    return "\n".join([_HEAD.format(example=text[text.index("import numpy"):]), *(
        line for member in USERS for line in _class(member)
    )])


def _class(member: type) -> Iterator[str]:
    yield from (f"## `{member.__name__}`", "")
    yield from _doc(member)
    for name, value in vars(member).items():
        if name.startswith("_"):
            continue
        if isinstance(value, property):
            yield from (f"### `{member.__name__}.{name}`", "", *_doc(value))
        elif isinstance(value, FunctionType):
            yield from (f"### `{member.__name__}.{name}`", "", "```python", *_signature(name, value), "```", "")
            yield from _doc(value)


def _signature(name: str, function: FunctionType) -> Iterator[str]:
    """``name(a: int, *, b: str = 'x') -> None``, without `self`, a parameter a line if it is long."""
    signature = inspect.signature(function)
    shown = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    parts, starred = [], False
    for parameter in shown:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        parts.append(_plain(str(parameter)))
    result = "" if signature.return_annotation is None else f" -> {_plain(_name(signature.return_annotation))}"
    line = f"{name}({', '.join(parts)}){result}"
    yield from [line] if len(line) <= 100 else [f"{name}(", *(f"    {part}," for part in parts), f"){result}"]


def _name(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) and not hasattr(annotation, "__args__") \
        else str(annotation)


def _plain(text: str) -> str:
    """Types by their own names, without modules."""
    words = text.replace("'", "").split(" ")
    for module in ("firmware_models.host.", "firmware_models.abi.", "firmware_models.schedule.", "collections.abc."):
        words = [word if module not in word else _last(word) for word in words]
    return " ".join(words)


def _last(word: str) -> str:
    """`list[a.b.C]` as `list[C]`."""
    for part in word.replace("[", " ").replace("]", " ").replace(",", " ").replace("(", " ").split():
        word = word.replace(part, part.rpartition(".")[2])
    return word


def _doc(member: object) -> Iterator[str]:
    """A docstring as paragraphs and lists."""
    blocks = inspect.cleandoc(inspect.getdoc(member) or "").split("\n\n")
    for block in blocks:
        lines = block.splitlines()
        if len(lines) > 1 and set(lines[1]) == {"-"}:
            yield from (f"*{lines[0]}*", "")
            yield from _items(lines[2:])
        else:
            yield from (_code(" ".join(lines)), "")


def _items(lines: list[str]) -> Iterator[str]:
    """Names with a type, and what they are, indented below."""
    text = textwrap.dedent("\n".join(lines)).splitlines()
    entries: list[list[str]] = []
    for line in text:
        if line.startswith(" ") and entries:
            entries[-1].append(line.strip())
        else:
            entries.append([line.strip()])
    for head, *rest in entries:
        yield f"- `{head}`{': ' + _code(' '.join(rest)) if rest else ''}"
    yield ""


def _code(text: str) -> str:
    """Roles of reStructuredText as code."""
    for role in (":class:", ":meth:", ":func:", ":mod:"):
        text = text.replace(f"{role}`~", "`").replace(f"{role}`", "`")
    return text.replace("``", "`")
