"""The study of noise: what is added, what is hidden, claims."""

from typing import Any

import pytest

from sim.host import load_host
from sim.study.noise.claims import LATE, added, claims, hidden
from sim.study.noise.study import NOISES, QUIET, disturbed


def row(noise: str, way: str, microseconds: float, **more: Any) -> dict[str, Any]:
    return {"kind": "noise", "noise": noise, "bytes": 256, "way": way, "seed": 0, "microseconds": microseconds,
            "mismatched_bits": 0, "sha256": "a", **more}


ROWS = [
    row(QUIET, "offloaded", 10), row(QUIET, "host-based", 30),
    row("half late", "offloaded", 15), row("half late", "host-based", 35),
    row("cut", "offloaded", 11), row("cut", "offloaded", 13, seed=1),
    row("cut", "host-based", 36), row("cut", "host-based", 40, seed=1),
]


def test_added() -> None:
    found = added(ROWS)
    assert found["half late", 256] == {"offloaded": 5, "host-based": 5, "seeds": 1}
    assert found["cut", 256] == {"offloaded": 2, "host-based": 8, "seeds": 2}
    assert [hidden(each) for each in found.values()] == ["0%", "75%"]
    assert hidden({"offloaded": 1, "host-based": 0}) == ""
    assert hidden({"offloaded": 10.02, "host-based": 10}) == "0%"


@pytest.mark.parametrize(("place", "change", "fails"), [
    (0, {}, []),
    (4, {"mismatched_bits": 1}, [0]),
    (7, {"sha256": "b"}, [1]),
    (2, {"microseconds": 35}, [2]),
    (4, {"microseconds": 64}, [3, 4]),  # a mean of 38.5 of offloaded runs, 38 of hosts
    (4, {"microseconds": 16}, []),  # 4.5 of 8: 44%
    (4, {"microseconds": 17}, [4]),
    (6, {"microseconds": 20}, [4]),  # nothing to hide
])
def test_claims_can_fail(place: int, change: dict[str, Any], fails: list[int]) -> None:
    rows = [each | (change if number == place else {}) for number, each in enumerate(ROWS)]
    assert [number for number, claim in enumerate(claims(rows)) if not claim["holds"]] == fails


def test_noises() -> None:
    """Each in the place of the host's own, and whatever is late says so."""
    host = load_host("paper")
    for name, noise in NOISES.items():
        found = disturbed(disturbed(host, "10 µs each 50 µs", 1), name, 7)
        assert found.noise.seed == 7
        assert {field: value for field, value in vars(found.noise).items() if value and field != "seed"} == noise
        assert (LATE in name) == ("late_ns" in noise)
        assert (found.cpu, found.pcie, found.mpi) == (host.cpu, host.pcie, host.mpi)
