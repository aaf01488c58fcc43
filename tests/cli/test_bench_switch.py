"""`conic bench switch`: refusals, and that a small switch reaches its figures."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Conic = Callable[..., Any]


@pytest.mark.parametrize(("arguments", "message"), [
    (("--radix", "1"), "--radix: must be 2 to 64, not 1"),
    (("--buffer-flits", "100"), "--buffer-flits: must be a power of two from 16 to 4096, not 100"),
    (("--buffer-flits", "32"), "link.buffer_flits must be above 260, the flits of a packet of mtu 2048, not 32"),
    (("--cycles", "10"), "--cycles: must be 1000 to 100000000, not 10"),
    (("--plot", "x.pdf"), "--plot: must end in .svg or .png, not 'x.pdf'"),
])
def test_refusals(conic: Conic, arguments: tuple[str, ...], message: str) -> None:
    outcome = conic("bench", "switch", *arguments)
    assert outcome.code == 2
    assert outcome.err.strip().splitlines()[-1] == f"conic bench switch: {message}"


@pytest.mark.long
def test_reaches_its_figures(conic: Conic) -> None:
    outcome = conic("bench", "switch", "--radix", "4", "--cycles", "10000", "--json")
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert report["failures"] == 0
    assert report["hop_cycles"] <= 7
    assert report["uniform_throughput"] >= 0.95
    assert [row["fanout"] for row in report["multicast_throughput"]] == [2, 3, 4]
    assert all(row["mtu_one_sender"] > 0.98 for row in report["multicast_throughput"])


@pytest.mark.long
def test_as_the_page_has_it(conic: Conic) -> None:
    """The whole command, which writes the figures of docs/switch.md: all credits come back, and it ends with 0."""
    outcome = conic("bench", "switch", "--json")
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert (report["failures"], report["with_preset_buffer"]["failures"]) == (0, 0)
    assert report["uniform_throughput"] >= 0.95
