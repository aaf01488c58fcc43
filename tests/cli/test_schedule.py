"""`conic schedule`: the checker's verdict and the sequences in words."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Conic = Callable[..., Any]


def test_json(conic: Conic) -> None:
    outcome = conic("schedule", "allreduce", "--algorithm", "recursive-doubling", "--nodes", "4", "--check", "--json")
    assert outcome.code == 0
    verdict = json.loads(outcome.out)
    # Recursive doubling among 4: each of 2 rounds, every node sends one packet.
    assert verdict | {"max_live_seq_ids": 0} == {
        "collective": "allreduce", "algorithm": "recursive-doubling", "nodes": 4, "packets": 8, "steps": 2,
        "max_live_seq_ids": 0, "violations": [],
    }
    assert 1 <= verdict["max_live_seq_ids"] <= 2


def test_words(conic: Conic) -> None:
    outcome = conic("schedule", "reduce", "--algorithm", "binomial", "--nodes", "2")
    assert outcome.code == 0
    assert outcome.out.splitlines()[:4] == [
        "node 0", "  0  take own data; reduce packet of 1; deliver", "node 1", "  0  take own data; send packet 0 to 0",
    ]


@pytest.mark.parametrize("flag", ["nodes: 4", "nodes: '4'"])
def test_run_file(flag: str, conic: Conic, tmp_path: Any) -> None:
    """Everything can come from the file, the argument too; a flag wins over it."""
    path = tmp_path / "run.yaml"
    path.write_text(f"collective: barrier\nalgorithm: dissemination\n{flag}\njson: true\n")
    held = json.loads(conic("schedule", "--run-file", str(path)).out)
    assert (held["collective"], held["nodes"]) == ("barrier", 4)
    assert json.loads(conic("schedule", "--run-file", str(path), "--nodes", "5").out)["nodes"] == 5


def test_diagram(conic: Conic, tmp_path: Any) -> None:
    path = tmp_path / "drawn" / "ring.svg"
    outcome = conic("schedule", "allreduce", "--algorithm", "ring", "--nodes", "3", "--diagram", str(path), "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["diagram"] == str(path)
    assert "block 2" in path.read_text()
    refused = conic("schedule", "barrier", "--algorithm", "dissemination", "--nodes", "65", "--diagram", str(path))
    assert refused.code == 2
    assert "--nodes: must be at most 64 with --diagram, not 65" in refused.err
    refused = conic("schedule", "barrier", "--algorithm", "dissemination", "--nodes", "4", "--diagram", "a.pdf")
    assert "--diagram: must end in .svg or .png, not 'a.pdf'" in refused.err
