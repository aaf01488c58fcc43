"""`conic config`: every field with its meaning, range and source; two configurations side by side."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firmware_models.config import FIELDS

Conic = Callable[..., Any]


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_whole_tree(conic: Conic) -> None:
    outcome = conic("config", "--preset", "paper")
    assert (outcome.code, outcome.err) == (0, "")
    for path, known in FIELDS.items():
        line = next(line for line in outcome.out.splitlines() if f"│ {path} " in line)
        assert known.meaning.split()[0] in line
        assert known.allowed.split()[0] in line
        assert "│ preset paper │" in line


def test_two_lines(conic: Conic) -> None:
    """A base and one change; what is from the file says so."""
    Path("mine.yaml").write_text("base: paper\nnic: {n_cous: 4}\n")
    report = json.loads(conic("config", "--config", "mine.yaml", "--json").out)
    fields = {row["field"]: row for row in report["fields"]}
    assert fields["nic.n_cous"] == {
        "field": "nic.n_cous", "value": 4, "allowed": "1 to 16, a power of two", "from": "mine.yaml",
        "meaning": FIELDS["nic.n_cous"].meaning,
    }
    assert {row["from"] for path, row in fields.items() if path != "nic.n_cous"} == {"preset paper"}
    assert {row["name"]: row["value"] for row in report["derived"]}["buffer_slots"] == 256


def test_diff(conic: Conic) -> None:
    Path("mine.yaml").write_text("reduce: {datatypes: [int32]}\nnic: {get: false}\n")
    report = json.loads(conic("config", "--diff", "small", "mine.yaml", "--json").out)
    assert [(row["field"], row["b"]) for row in report["differences"]] \
        == [("nic.get", False), ("reduce.datatypes", ["int32"])]
    text = conic("config", "--diff", "small", "mine.yaml").out
    assert "│ true" in text
    assert "│ false" in text
    same = conic("config", "--diff", "ulx3s_85f", "ecpix5_85f")
    assert (same.code, same.out) == (0, "ulx3s_85f and ecpix5_85f: no difference\n")


@pytest.mark.parametrize(("flags", "message"), [
    (["--preset", "small", "--config", "x.yaml"], "--config: give --preset or --config, not both"),
    (["--diff", "small", "paper", "--preset", "small"], "--diff: give it alone, without --preset and --config"),
    (["--diff", "small", "large"],
     "--diff: must be two of ecpix5_85f, paper, small, ulx3s_85f, versa_ecp5_5g, or files that end in .yaml, "
     "not 'large'"),
    (["--config", "none.yaml"], "config file 'none.yaml' cannot be read: No such file or directory"),
])
def test_refused(flags: list[str], message: str, conic: Conic) -> None:
    outcome = conic("config", *flags)
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"conic config: {message}\n")
