"""Which tests a change touches, and which benches need not run again."""

import subprocess
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from testbench.design import design_of
from testbench.fast import changed_files, modules_touched, touched_tests
from testbench.fast_plugin import Deadline
from testbench.passed import key_of
from testbench.planted import FaultyRegister
from testbench.runner import run_bench

BENCH = "testbench.planted_bench"


def touched(*names: str) -> dict[str, int]:
    return {str(path): steps for path, steps in touched_tests(map(Path, names)).items()}


def test_the_tests_of_a_module_come_first():
    tests = touched("rtl/dma/reader.py")
    assert next(iter(tests)) == "tests/rtl/dma/test_dma.py"
    assert "tests/rtl/nic/test_nic.py" in tests  # a NIC has an engine, which has a reader
    assert tests["tests/rtl/nic/test_nic.py"] > tests["tests/rtl/dma/test_dma.py"]
    assert "tests/rtl/reduce/test_float_add.py" not in tests
    assert list(tests.values()) == sorted(tests.values())


def test_a_bench_is_touched_by_its_name():
    assert "tests/rtl/link/test_link.py" in touched("testbench/link/link_bench.py")
    assert touched("testbench/p2p/get_bench.py").keys() == {"tests/rtl/p2p/test_p2p.py"}  # its name is computed


def test_files_that_are_no_modules():
    assert modules_touched([Path("testbench/reduce/vector_run.cpp")]) == {"testbench.reduce.vector_run"}
    assert "sim.cluster.build" in modules_touched([Path("sim/cluster/link.h")])
    assert "tests/docs/test_links.py" in touched("docs/reduce.md")
    assert touched("LICENSE") == {}
    assert touched("tests/rtl/kit/test_kit.py") == {"tests/rtl/kit/test_kit.py": 0}
    assert "tests/rtl/kit/test_kit.py" in touched("tests/conftest.py")


def test_changed_files(tmp_path):
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], cwd=tmp_path, check=True,
                       capture_output=True)

    git("init", "-q")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-qm", "first")
    (tmp_path / "b").write_text("1")
    git("add", "b")
    git("commit", "-qm", "second")
    assert changed_files(tmp_path) == [Path("b")]
    (tmp_path / "c").write_text("1")
    (tmp_path / "a").write_text("2")
    assert changed_files(tmp_path) == [Path("a"), Path("c")]
    assert changed_files(tmp_path, since="HEAD~1") == [Path("a"), Path("b"), Path("c")]


@pytest.mark.parametrize(("cost", "runs"), [(5, True), (50, False), (None, False)])
def test_what_does_not_fit_is_left_out(cost, runs, request):
    node = request.node
    deadline = Deadline(time.time() + 10, {} if cost is None else {node.nodeid: cost}, {})
    if runs:
        deadline.pytest_runtest_setup(node)
    else:
        with pytest.raises(pytest.skip.Exception, match="left out: no time"):
            deadline.pytest_runtest_setup(node)


def test_the_nearest_and_cheapest_come_first():
    items = [SimpleNamespace(nodeid=name) for name in ("far.py::a", "near.py::dear", "near.py::cheap", "near.py::new")]
    deadline = Deadline(0, {"near.py::dear": 50, "near.py::cheap": 1}, {"near.py": 1, "far.py": 2})
    deadline.pytest_collection_modifyitems(items)
    assert [item.nodeid for item in items] == ["near.py::cheap", "near.py::new", "near.py::dear", "far.py::a"]


def test_an_unchanged_bench_is_not_run_again(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("CONIC_SEED", raising=False)
    monkeypatch.delenv("CONIC_WAVES", raising=False)
    run = partial(run_bench, bench=BENCH, testcase="passes_items_on")
    monkeypatch.setenv("CONIC_SKIP_PASSED", "1")
    design = design_of(FaultyRegister(fault="none"))
    keys = {
        key_of(design, bench=BENCH, parameters=parameters, testcase=case, tools="verilator")
        for parameters in ({}, {"depth": 3}) for case in (None, "hangs")
    }
    assert len(keys) == 4
    # Passes of this test only; builds stay where they are.
    monkeypatch.setattr("testbench.passed._record", lambda key: tmp_path / f"{key}.json")
    first = run(FaultyRegister(fault="none"), parameters={"depth": 3})
    assert "of its last pass" not in capsys.readouterr().out
    again = run(FaultyRegister(fault="none"), parameters={"depth": 3})
    assert again == first
    assert f"of its last pass, with seed {first.seed}" in capsys.readouterr().out
    run(FaultyRegister(fault="none"), parameters={"depth": 4})
    assert "of its last pass" not in capsys.readouterr().out
    with pytest.raises(AssertionError):
        run(FaultyRegister(fault="swaps"), parameters={"depth": 3})
    monkeypatch.setenv("CONIC_SEED", "5")  # someone wants to see this very run
    assert run(FaultyRegister(fault="none"), parameters={"depth": 3}).seed == 5
