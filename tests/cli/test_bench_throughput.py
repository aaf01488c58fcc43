"""`conic bench throughput`."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Conic = Callable[..., Any]


def test_rows(conic: Conic) -> None:
    """A row for each case, with headers counted; one job fills most of its link."""
    arguments = ("--preset", "small", "--nodes", "2", "--size", "32KiB", "--json")
    outcome = conic(
        "bench", "throughput", *arguments, "--case", "allreduce recursive-doubling", "--case", "broadcast binomial",
    )
    assert outcome.code == 0, outcome.err
    rows = json.loads(outcome.out)["rows"]
    assert [(row["collective"], row["algorithm"], row["nodes"], row["bytes"], row["jobs"]) for row in rows] == [
        ("allreduce", "recursive-doubling", 2, 32768, 1), ("broadcast", "binomial", 2, 32768, 1),
    ]
    for row in rows:
        # 256 flits of a packet, and four of its header.
        assert abs(row["framing_fraction"] - row["bound_fraction"] * 260 / 256) < 1e-9
        assert 0.7 < row["framing_fraction"] < 1
    # Both nodes of an allreduce send credits for what they receive, four flits each; the root of a broadcast does not.
    assert [round(row["wire_fraction"] / row["framing_fraction"] * 260) for row in rows] == [264, 260]


@pytest.mark.parametrize(("arguments", "message"), [
    (("--nodes", "1"), "--nodes: must be 2 to 16384, not 1"),
    (("--jobs", "0"), "--jobs: must be 1 to 256, not 0"),
    (("--size", "1 furlong"), "--size: must be bytes as in 4096, 4KiB or 1MiB, not '1 furlong'"),
])
def test_refused(arguments: tuple[str, ...], message: str, conic: Conic) -> None:
    outcome = conic("bench", "throughput", *arguments)
    assert outcome.code == 2
    assert outcome.err.strip().splitlines()[-1] == f"conic bench throughput: {message}"
