"""`conic buffer`: refusals."""

from collections.abc import Callable
from typing import Any

import pytest

Conic = Callable[..., Any]


@pytest.mark.parametrize(("arguments", "message"), [
    (("--load", "1.5"), "--load: must be a number above 0 and at most 1, not '1.5'"),
    (("--load", "0"), "--load: must be a number above 0 and at most 1, not '0'"),
    (("--mode", "robin"), "--mode: must be one of cuckoo, linear, not 'robin'"),
    (("--keys", "any"), "--keys: must be one of random, structured, adversarial, mixed, not 'any'"),
    (("--entries", "1000"), "--entries: must be a power of two, not 1000"),
    (("--plot", "x.pdf"), "--plot: must end in .svg or .png, not 'x.pdf'"),
])
def test_refusals(conic: Conic, arguments: tuple[str, ...], message: str) -> None:
    outcome = conic("buffer", *arguments)
    assert outcome.code == 2
    assert outcome.err.strip() == f"conic buffer: {message}"
