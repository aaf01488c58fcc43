"""Tag tables under a million operations, against std::unordered_map."""

import pytest

from testbench.buffer.key_patterns import PATTERNS
from testbench.buffer.table_driver import TableShape, churn
from testbench.seed import drawn

SMALL, LARGE = 512, 4096


def checked(*, mode: str, entries: int, load: float, operations: int, keys: str) -> dict:
    report = churn(TableShape(mode=mode, entries=entries), load=load, operations=operations, keys=keys, seed=drawn())
    assert report["mismatches"] == 0, report["log"]
    assert report["failures"] == 0, report["log"]
    assert report["operations"] >= operations
    return report


@pytest.mark.parametrize("keys", PATTERNS)
def test_cuckoo(keys: str) -> None:
    """Constant look-up, nothing lost or doubled; and all but hostile keys fit up to 95% of the entries."""
    report = checked(mode="cuckoo", entries=SMALL, load=0.95, operations=250_000, keys=keys)
    assert report["lookup_cycles"]["min"] == report["lookup_cycles"]["max"] == 4
    if keys != "adversarial":
        assert report["keys_peak"] == int(0.95 * SMALL)
    assert report["duplicates"] > 20


@pytest.mark.parametrize("keys", ["random", "structured"])
def test_linear(keys: str) -> None:
    """The paper's mode with its reserve of 10%."""
    report = checked(mode="linear", entries=SMALL, load=0.9, operations=50_000, keys=keys)
    assert report["lookup_cycles"]["max"] > report["lookup_cycles"]["min"] == 2


@pytest.mark.long
@pytest.mark.parametrize("keys", PATTERNS)
@pytest.mark.parametrize("load", [0.5, 0.75, 0.9, 0.95, 0.98])
def test_cuckoo_4096(load: float, keys: str) -> None:
    checked(mode="cuckoo", entries=LARGE, load=load, operations=1_000_000, keys=keys)


def test_refuses() -> None:
    with pytest.raises(ValueError, match=r"load must be above 0 and at most 1, not 1\.5"):
        churn(TableShape(entries=SMALL), load=1.5, operations=1)
    with pytest.raises(ValueError, match="keys must be one of random"):
        churn(TableShape(entries=SMALL), load=0.5, operations=1, keys="any")
