"""The study of reproducibility: an order on the RTL, seeds, claims."""

from typing import Any

import pytest

from sim.study.reproducibility.order import measure
from sim.study.reproducibility.study import claims


def row(algorithm: str, seed: int, digest: str, cycles: int = 100) -> dict[str, Any]:
    return {"kind": "order", "collective": "allreduce", "algorithm": algorithm, "seed": seed, "sha256": digest,
            "mismatched_bits": 0, "others_mismatched_bits": 0, "cycles": cycles}


ROWS = [
    row("recursive-doubling", 0, "a"), row("recursive-doubling", 1, "a", 160), row("rabenseifner", 0, "a"),
    row("rabenseifner", 1, "a", 150), row("ring", 0, "b"), row("ring", 1, "b", 300),
]


@pytest.mark.parametrize(("place", "change", "fails"), [
    (0, {}, []),
    (1, {"mismatched_bits": 1}, [0]),
    (1, {"others_mismatched_bits": 1}, [0]),
    (1, {"sha256": "c"}, [1]),
    (3, {"sha256": "c"}, [3]),
    (3, {"cycles": 140}, [4]),
])
def test_claims_can_fail(place: int, change: dict[str, Any], fails: list[int]) -> None:
    rows = [each | (change if number == place else {}) for number, each in enumerate(ROWS)]
    assert [number for number, claim in enumerate(claims(rows)) if not claim["holds"]] == fails


def test_data_that_tell_no_orders_apart() -> None:
    """Every algorithm gives the same: then nothing is shown. Without one of them nothing is said of it."""
    rows = [each | {"sha256": "a"} for each in ROWS]
    assert [claim["holds"] for claim in claims(rows)][-1] is False
    assert len(claims(ROWS)) == 1 + 2 * 3 + 1
    assert len(claims(ROWS[:4])) == 1 + 2 * 2


def test_orders() -> None:
    """A seed is an order: the same each time, others for other seeds; the same hash, the golden model's bits."""
    first, again, other = (
        {**measure("small", "allreduce", "rabenseifner", 2, seed), "seconds": 0} for seed in (0, 0, 5)
    )
    assert first == again
    assert (first["mismatched_bits"], first["others_mismatched_bits"]) == (0, 0)
    assert first["sha256"] == other["sha256"]
    assert (first["others"], first["stalls"], first["pulse_bytes"], first["cycles"]) != (
        other["others"], other["stalls"], other["pulse_bytes"], other["cycles"])
