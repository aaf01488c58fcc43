"""`conic demo` from end to end: table, page, exit code."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firmware_models.golden import Reference, reference

Conic = Callable[..., Any]


def test_demo(conic: Conic, tmp_path: Path) -> None:
    page = tmp_path / "pages" / "index.html"
    outcome = conic("demo", "--output", str(page))
    assert outcome.code == 0
    for collective in ("allreduce", "reduce", "broadcast", "barrier"):
        assert re.search(rf"│ {collective} +│.*│ +0 │ [0-9a-f]{{8}}… │", outcome.out)
    text = page.read_text()
    assert text.count("<svg") == 8
    assert "Every bit of every result is the golden model's" in text
    assert "worst concave points" in text
    assert not re.search(r"""(?:src|href)=["'](?!#)""", text)  # nothing is fetched from elsewhere


def test_one_wrong_bit(conic: Conic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moments from golden sums that are one bit off are other moments: exit code 1, and the page says so."""
    def one_bit_off(*args: Any, **kwargs: Any) -> Reference:
        right = reference(*args, **kwargs)
        results = right.results.copy()
        results.view(np.uint64)[3, 1] ^= 1
        return Reference(results, right.receives)

    monkeypatch.setattr("sim.demo.operations.reference", one_bit_off)
    page = tmp_path / "index.html"
    outcome = conic("demo", "--output", str(page), "--json")
    assert outcome.code == 1
    answer = json.loads(outcome.out)
    assert not answer["same_moments"]
    assert [row["mismatched_bits"] for row in answer["operations"]] == [0, 0, 0, 0]
    assert "Mean and covariance are not those from the golden sums" in page.read_text()
