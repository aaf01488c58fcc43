"""`conic run` and `conic verify` from end to end: the RTL of a whole cluster, called as a script would."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Conic = Callable[..., Any]

ALGORITHMS = {
    "broadcast": "binomial", "reduce": "binomial", "allreduce": "recursive-doubling", "barrier": "dissemination",
}
RUN_KEYS = {
    "collective", "algorithm", "nodes", "jobs", "bytes", "dtype", "op", "topology", "preset", "seed", "cycles",
    "goodput_fraction", "bound_fraction", "mismatched_bits", "sha256",
}


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("collective", ALGORITHMS)
def test_no_bit_differs(collective: str, nodes: int, conic: Conic) -> None:
    size = [] if collective == "barrier" else ["--size", "4KiB"]
    outcome = conic("run", collective, "--algorithm", ALGORITHMS[collective], "--nodes", str(nodes), *size, "--json")
    answer = json.loads(outcome.out)
    assert outcome.code == 0
    assert answer["mismatched_bits"] == 0
    assert set(answer) >= RUN_KEYS
    assert (answer["collective"], answer["nodes"]) == (collective, nodes)
    assert answer["bytes"] == (0 if collective == "barrier" else 4096)
    assert answer["cycles"] > 0


def test_arrays_in_and_out(conic: Conic, tmp_path: Path) -> None:
    """The data may hold NaN, infinities, subnormals and both zeros; they come through as NumPy has them."""
    rows = np.array([
        [1.5, np.nan, np.inf, np.inf, 5e-324, -0.0, 1e308, 0.1],
        [2.5, 1.0, -1.0, -np.inf, 5e-324, -0.0, 1e308, 0.2],
        [3.5, 2.0, 2.0, 1.0, -1.5e-323, -0.0, -1e308, 0.3],
    ])
    given, got = tmp_path / "x.npy", tmp_path / "y.npy"
    np.save(given, rows)
    outcome = conic("run", "reduce", "--algorithm", "binomial", "--root", "1", "--input", str(given),
                    "--output", str(got), "--json")
    answer = json.loads(outcome.out)
    assert (outcome.code, answer["bytes"], answer["nodes"], answer["dtype"]) == (0, 64, 3, "float64")
    results = np.load(got)
    # Root 1 is relative rank 0: it adds node 2, then node 0.
    with np.errstate(all="ignore"):
        expected = (rows[1] + rows[2]) + rows[0]
    assert np.isnan(results[1][[1, 3]]).all()
    comparable = ~np.isnan(expected)
    assert results[1][comparable].tobytes() == expected[comparable].tobytes()
    assert not results[[0, 2]].any()
    assert hashlib.sha256(results.tobytes()).hexdigest() == answer["sha256"]


def test_same_seed_same_answer(conic: Conic) -> None:
    arguments = ["run", "allreduce", "--algorithm", "recursive-doubling", "--nodes", "2", "--size", "64", "--json"]
    assert json.loads(conic(*arguments, "--seed", "7").out) == json.loads(conic(*arguments, "--seed", "7").out)
    assert json.loads(conic(*arguments, "--seed", "8").out)["sha256"] != \
        json.loads(conic(*arguments, "--seed", "7").out)["sha256"]


def test_table_trace_and_run_file(conic: Conic, tmp_path: Path) -> None:
    run_file, trace = tmp_path / "run.yaml", tmp_path / "trace.json"
    run_file.write_text("collective: broadcast\nalgorithm: binomial\nnodes: 2\nsize: 256\n")
    outcome = conic("run", "--run-file", str(run_file), "--trace", str(trace))
    assert outcome.code == 0
    assert [line.split() for line in outcome.out.splitlines() if "mismatched" in line] == [["mismatched", "bits", "0"]]
    events = json.loads(trace.read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {0, 1}
    assert any(event["ph"] == "X" and event["dur"] > 0 for event in events)


def test_verify(conic: Conic) -> None:
    outcome = conic("verify", "reduce", "--algorithm", "binomial", "--nodes", "5", "--size", "256", "--orders", "5",
                    "--json")
    answer = json.loads(outcome.out)
    assert outcome.code == 0
    assert (answer["orders"], answer["distinct_results"], answer["mismatched_bits"]) == (5, 1, 0)
    assert len(answer["sha256"]) == 64
