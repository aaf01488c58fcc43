"""`conic bench osu`: a table that a script for OSU's output reads."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from sim.bench.osu import Latency, table

Conic = Callable[..., Any]
COMMAND = ["bench", "osu", "allreduce", "--nodes", "2", "-m", "4:64"]


def parsed(text: str) -> tuple[str, list[str], list[list[float]]]:
    """Parses the output as scripts do: the name of the test, the names of the columns, the numbers.

    Written from the layout alone: comments begin with ``#``, the last of them has the columns, which two blanks or more
    keep apart; each other line that is not empty has a number for each column, apart by blanks.
    """
    comments = [line for line in text.splitlines() if line.startswith("#")]
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    match = re.fullmatch(r"# OSU MPI (.+) Latency Test.*", comments[0])
    assert match is not None
    return match[1], re.split(r" {2,}", comments[-1]), [[float(cell) for cell in row] for row in rows]


def test_table(conic: Conic) -> None:
    outcome = conic(*COMMAND)
    name, heads, rows = parsed(outcome.out)
    assert (outcome.code, name, heads) == (0, "Allreduce", ["# Size", "Avg Latency(us)"])
    assert [row[0] for row in rows] == [4, 8, 16, 32, 64]
    assert all(row[1] > 0 for row in rows)
    # Columns of 10 and 18 characters, two digits: what `cut` and `awk '{print $2}'` find.
    for line in outcome.out.splitlines():
        if line and not line.startswith("#"):
            assert re.fullmatch(r"[0-9]+ +[0-9]+\.[0-9]{2}", line)
            assert len(line) == 28
            assert line[:10].rstrip().isdigit()


def test_full(conic: Conic) -> None:
    outcome = conic(*COMMAND[:-1], "8:8", "-f", "--host", "server", "--host-based")
    _, heads, rows = parsed(outcome.out)
    assert heads == ["# Size", "Avg Latency(us)", "Min Latency(us)", "Max Latency(us)", "Iterations"]
    (size, average, least, most, iterations), = rows
    assert (size, iterations) == (8, 1)
    assert least <= average <= most
    values = json.loads(conic(*COMMAND[:-1], "8:8", "--host", "server", "--host-based", "--json").out)
    assert values["rows"][0]["average"] == pytest.approx(average, abs=0.005)
    assert values["rows"][0]["bytes"] == 8


def test_numbers_of_any_size() -> None:
    rows = [Latency(bytes=1 << 22, algorithm="ring", average=123456.789, least=0.001, most=1e6)]
    text = table("alltoall", rows, about=["a", "b"], is_full=True)
    assert [len(line) for line in text.splitlines()[-2:]] == [10 + 3 * 18 + 12] * 2
    name, _, (row,) = parsed(text)
    assert name == "All-to-All Personalized Exchange"
    assert row == [1 << 22, 123456.79, 0.0, 1e6, 1]


@pytest.mark.parametrize(("flags", "message"), [
    (["-m", "64:4"], "must be MIN:MAX with 1 <= MIN <= MAX, not '64:4'"),
    (["-m", "1:2"], "-m: must have a power of two of at least 4 bytes (float32), not 1:2"),
    (["-m", "x"], "must be bytes as in 4096, 4KiB or 1MiB, not 'x'"),
    (["--dtype", "half"], "--dtype: must be one of"),
    (["--algorithm", "magic"], "--algorithm: must be one of"),
    (["--host", "laptop"], "host must be one of paper, server"),
])
def test_bad_input(flags: list[str], message: str, conic: Conic) -> None:
    outcome = conic("bench", "osu", "allreduce", "--nodes", "2", *flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
