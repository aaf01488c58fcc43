"""Cover points: what a bench promises and does not do fails."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

from testbench.coverage import merged, missing
from testbench.planted import FaultyRegister
from testbench.runner import BenchError, run_bench

run = partial(run_bench, FaultyRegister(fault="none"), bench="testbench.planted_coverage_bench")


def test_all_bins_hit():
    result = run(parameters={"items": [0, 1, 2, 3]})
    assert result.coverage == {"item": {"0 × even": 1, "1 × odd": 1, "2 × even": 1, "3 × odd": 1}}


def test_an_empty_bin_fails_the_run():
    with pytest.raises(BenchError) as caught:
        run(parameters={"items": [0, 1, 3]}, seed=4)
    message = str(caught.value)
    assert "passed with seed" in message
    assert message.endswith("but did too little\nnot covered: item: 2 × even")


def test_part_of_a_bench_promises_nothing():
    assert run(parameters={"items": [0]}, testcase="sends").tests == 1


def test_missing_and_merged():
    assert missing({"a": {"x": 1, "y": 0}, "b": {"z": 0}}) == ["not covered: a: y", "not covered: b: z"]
    runs = [{"bench": "n", "coverage": {"a": {"x": 3, "y": 9}}}, {"bench": "n", "coverage": {"a": {"x": 5, "y": 2}}}]
    assert merged(runs) == [{"bench": "n", "covers": "a", "bins": 2, "runs": 2, "least": 2}]


def test_the_table_has_every_bench_that_covers():
    root = Path(__file__).resolve().parents[2]
    covering = {
        (str(path.relative_to(root).with_suffix("")).replace("/", "."), name)
        for path in root.glob("testbench/*/*_bench.py")
        for name in re.findall(r"= cover\(\s*\"([^\"]+)\"", path.read_text())
    }
    rows = json.loads((root / "docs" / "figures" / "coverage.json").read_text())
    assert {(row["bench"], row["covers"]) for row in rows} == covering
    assert min(row["least"] for row in rows) > 0
