"""Where seeds come from."""

import pytest

from testbench.seed import drawn


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    for name in ("CONIC_SEED", "CONIC_SEEDS"):
        monkeypatch.delenv(name, raising=False)


def test_new_ones_if_nothing_is_said(capsys):
    seeds = [drawn() for _ in range(4)]
    assert len(set(seeds)) > 1
    assert capsys.readouterr().out.splitlines()[0] == f"seed {seeds[0]} (CONIC_SEED={seeds[0]} repeats this run)"


def test_those_of_a_number(monkeypatch):
    """The same for the same test and name; others for another name, test or number."""
    monkeypatch.setenv("CONIC_SEEDS", "1")
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/a.py::test[1] (call)")
    first, again, other_name = drawn("bench"), drawn("bench"), drawn("other")
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/a.py::test[2] (call)")
    other_test = drawn("bench")
    monkeypatch.setenv("CONIC_SEEDS", "2")
    assert first == again
    assert len({first, other_name, other_test, drawn("bench")}) == 4


def test_the_one_that_is_asked_for(monkeypatch):
    monkeypatch.setenv("CONIC_SEEDS", "1")
    monkeypatch.setenv("CONIC_SEED", "77")
    assert drawn("bench") == 77
