"""The sentences that stand below enum members in the source, for the generated pages and headers."""

import ast
import inspect
import textwrap
from enum import Enum


def member_docs(enum: type[Enum]) -> dict[str, str]:
    """The docstring below each member of `enum`, in one line; empty for a member without one.

    Python keeps no docstrings of members, so they are read from the source.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(enum)))
    definition = tree.body[0]
    assert isinstance(definition, ast.ClassDef)
    docs = dict.fromkeys(enum.__members__, "")
    member: str | None = None
    for statement in definition.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in docs:
                member = name
            case ast.Expr(value=ast.Constant(value=str(text))) if member is not None:
                docs[member] = " ".join(text.split())
                member = None
            case _:
                member = None
    return docs
