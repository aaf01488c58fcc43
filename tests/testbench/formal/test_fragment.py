"""Pieces of source are found whatever a formatter does to it, and nowhere else."""

import ast

import pytest

from testbench.formal.fragment import replaced

SOURCE = """
def elaborate(self):
    m.d.comb += [a.eq(b + Mux(c, "one", 0)), d.eq(~e)]
    with m.If(a & ~b):
        m.d.sync += f.eq(0)
"""
FORMATTED = """
def elaborate(self):
    m.d.comb += [
        a.eq(
            b  # the sum
            + Mux(c, 'one', 0),
        ),
        d.eq(~e),
    ]
    with m.If(
        a & ~b,
    ):
            m.d.sync += f.eq(0)
"""
PIECES = [
    ('a.eq(b + Mux(c, "one", 0))', "a.eq(b)"), ('a.eq(b + Mux(c, "one", 0)), ', ""), ("with m.If(a & ~b):", "if True:"),
    ("[a.eq(b + ", "[a.eq("), ("b + Mux(c, 'one', 0)", "0"), ("d.eq(~e)]", "d.eq(e)]"), ("& ~b", "& b"),
    ("        m.d.sync += f.eq(0)", "        m.d.sync += f.eq(1)"),
]


@pytest.mark.parametrize(("old", "new"), PIECES)
def test_format_says_nothing(old: str, new: str) -> None:
    plain, formatted = (replaced(source, old, new) for source in (SOURCE, FORMATTED))
    assert plain[1] == formatted[1] == 1
    assert ast.dump(ast.parse(plain[0])) == ast.dump(ast.parse(formatted[0])) != ast.dump(ast.parse(SOURCE))


@pytest.mark.parametrize(("old", "count"), [
    ("a", 2), ("a.eq(b - ", 0), ("~", 2), ("aa", 0), ("m.d", 2), ("f.eq(0)", 1), ("Mux(c, 'two', 0)", 0), ("", 0),
])
def test_how_often(old: str, count: int) -> None:
    """An identifier is one as a whole."""
    for source in (SOURCE, FORMATTED):
        changed, found = replaced(source, old, "x")
        assert found == count
        assert (changed == source) == (count != 1)
