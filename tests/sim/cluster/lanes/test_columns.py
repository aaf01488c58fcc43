# amaranth: UnusedElaboratable=no
"""Columns of matrices, of all sizes about those that are transposed, against Amaranth's simulator."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sim.cluster.lanes import code, columns

SIZES = [(7, 8), (8, 7), (8, 8), (9, 8), (8, 9), (15, 16), (17, 16), (33, 31), (64, 64), (65, 66)]
"""Rows and columns."""
FEW = [(9, 8), (17, 16)]


class Matrices(wiring.Component):
    """Columns of rows that stand in order; of rows in any order, some of them left out; of bits that are inverted."""

    def __init__(self, sizes: list[tuple[int, int]]):
        self.sizes = sizes
        members: dict[str, Any] = {"ticks": Out(8)}
        for rows, width in sizes:
            members[f"i{rows}_{width}"] = In(rows * width)
            for kind in ("plain", "mixed", "changed"):
                members |= {f"{kind}{rows}_{width}_{n}": Out(rows) for n in range(width)}
        super().__init__(members)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.sync += self.ticks.eq(self.ticks + 1)
        for n_rows, width in self.sizes:
            source = getattr(self, f"i{n_rows}_{width}")
            rng = random.Random(f"{n_rows} {width}")
            rows = [Signal(width, name=f"row{n_rows}_{width}_{n}") for n in range(n_rows)]
            m.d.comb += [row.eq(source[width * n:][:width] ^ rng.getrandbits(width)) for n, row in enumerate(rows)]
            mixed = rng.sample(rows, n_rows)
            gaps = {n for n in range(n_rows) if n % 5 == 3}
            for n in range(width):
                plain, other, changed = (
                    getattr(self, f"{kind}{n_rows}_{width}_{n}") for kind in ("plain", "mixed", "changed")
                )
                m.d.comb += [
                    plain.eq(Cat(row[n] for row in rows)),
                    other.eq(Cat(Const(at % 2, 1) if at in gaps else row[n] for at, row in enumerate(mixed))),
                    changed.eq(~Cat(row[n] for row in rows[::-1]) & Cat(row[n] for row in mixed)),
                ]
        return m


def compared(
    checker: SimpleNamespace, folder: Path, lanes: int, sizes: list[tuple[int, int]] = FEW, **named: Any,
) -> list[str]:
    stimulus = checker.drawn(Matrices(sizes), 3, cycles=8, resets=False)
    wanted = checker.expected(Matrices(sizes), stimulus)
    program = checker.built(folder, Matrices(sizes), lanes=lanes, isa=checker.isas[-1], **named)
    found, _ = program.run(stimulus, seeds=[0] * lanes, how=[cycle % 3 for cycle in range(8)])
    wrong: list[str] = checker.differences(found, wanted)
    return wrong


@pytest.mark.parametrize("lanes", [1, 4])
def test_columns(lanes: int, checker: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(code, "size_of", lambda *args: sizes.append(columns.size_of(*args)) or sizes[-1])
    assert not compared(checker, tmp_path, lanes, SIZES)
    assert {8, 16, 64} <= set(sizes)
    assert len(sizes) > len(SIZES)


def test_few_columns(checker: SimpleNamespace, tmp_path: Path) -> None:
    assert not compared(checker, tmp_path, 1)


PLANTED = {
    "halves not exchanged": ("words[n] ^= other << half;", "words[n] ^= other;"),
    "the last step left out": ("half; half /= 2", "half > 1; half /= 2"),
    "the largest step left out": ("half = size / 2; half;", "half = size / 4; half;"),
    "rows passed over": ("n = ((n | half) + 1) & ~half", "n = (n | half) + 1 + half"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_an_error_is_found(name: str, checker: SimpleNamespace, tmp_path: Path) -> None:
    assert compared(checker, tmp_path, 1, change=checker.planted("lanes.h", *PLANTED[name]))


def test_a_column_of_another_bit_is_found(
    checker: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = code._PartCode.column

    def wrong(self: Any, column: columns.Column) -> str | None:
        text = right(self, column)
        return text and text.replace(f"[{column.bit}]", f"[{column.bit ^ 1}]")
    monkeypatch.setattr(code._PartCode, "column", wrong)
    assert compared(checker, tmp_path, 1)
