"""Summary of the time that tests took."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from testbench.cost import PROPERTY, by_folder, costs_of


def report(test: str, *cost: float) -> SimpleNamespace:
    return SimpleNamespace(nodeid=test, user_properties=[(PROPERTY, list(cost))] if cost else [])


def test_phases_and_folders_are_summed():
    costs = costs_of([
        report("tests/a/test_x.py::one", 1, 2, 3), report("tests/a/test_x.py::one", 10, 20, 30),
        report("tests/b/test_y.py::two", 5, 5, 5), report("tests/b/test_y.py::none"), object(),
    ])
    assert costs == {"tests/a/test_x.py::one": [11, 22, 33], "tests/b/test_y.py::two": [5, 5, 5]}
    assert by_folder(costs) == {"all": (2, [16, 27, 38]), "tests/a": (1, [11, 22, 33]), "tests/b": (1, [5, 5, 5])}
    assert list(by_folder(costs)) == ["all", "tests/a", "tests/b"]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_programs_that_a_test_runs_count(tmp_path, workers):
    """With workers and without: both tables, the dearest test first, and pytest's closing line last."""
    busy = "subprocess.run([sys.executable, '-c', 'import time\\nwhile time.process_time() < 0.7: pass'])"
    (tmp_path / "test_it.py").write_text(
        f"import subprocess, sys\ndef test_busy():\n    {busy}\ndef test_idle():\n    pass\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", workers, "-p", "testbench.cost", "--rootdir", str(tmp_path),
         str(tmp_path)],
        capture_output=True, text=True, check=True, cwd=tmp_path, env={"CONIC_BUILD": str(tmp_path / "build")},
    )
    lines = run.stdout.splitlines()
    first = next(line for line in lines if line.endswith("test_it.py::test_busy")).split()
    assert 0.7 <= float(first[1]) < 5
    assert any(line.endswith(" 2  all") for line in lines)
    assert "2 passed" in lines[-1]
