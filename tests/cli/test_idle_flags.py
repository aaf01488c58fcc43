"""A flag that would do nothing beside another, or without it, is refused and named; a file's own type is the type."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim.operation.request import reduces

Conic = Callable[..., Any]
RUN = ("allreduce", "--algorithm", "ring", "--nodes", "2", "--size", "64")
ROUTE = ("route", "star:4", "--pattern", "2x2")
FLOWS = ("congestion", "dumbbell:5", "--load", "0.1")
COLLECTIVE = ("congestion", "dumbbell:5", "--collective", "allreduce", "--size", "1KiB")
IDLE = [
    (("run", *RUN, "--baud", "9600"), "--baud"),
    (("run", *RUN, "--board", "model:ulx3s_85f", "--baud", "9600"), "--baud"),
    (("run", "barrier", "--algorithm", "tree", "--nodes", "2", "--dtype", "float32"), "--dtype"),
    (("verify", "barrier", "--algorithm", "tree", "--nodes", "2", "--dtype", "float64"), "--dtype"),
    (("run", "barrier", "--algorithm", "tree", "--nodes", "2", "--op", "max"), "--op"),
    (("run", "allgather", "--algorithm", "ring", "--nodes", "2", "--size", "64", "--op", "sum"), "--op"),
    (("run", *RUN, "--root", "1"), "root"),
    (("run", *RUN, "--waves-from", "5"), "--waves"),
    ((*FLOWS, "--size", "4KiB"), "--size"),
    ((*FLOWS, "--ranks", "4"), "--ranks"),
    ((*COLLECTIVE, "--duration-us", "9"), "--duration-us"),
    (("route", "star:4", "--groups", "x.yaml", "--processes-per-terminal", "2"), "--processes-per-terminal"),
    (("route", "star:4", "--groups", "x.yaml", "--order", "last"), "--order"),
    ((*ROUTE, "--load-state", "x", "--algorithm", "mr4lms"), "--algorithm"),
    ((*ROUTE, "--load-state", "x", "--mft-size", "8"), "--mft-size"),
    ((*ROUTE, "--algorithm", "minihop", "--mft-size", "8"), "--mft-size"),
    ((*ROUTE, "--algorithm", "sssp", "--policy", "best"), "--policy"),
    ((*ROUTE, "--algorithm", "sssp", "--merge-with", "sparse"), "--merge-with"),
    ((*ROUTE, "--algorithm", "opensm-sssp", "--old-trees", "rebuild"), "--old-trees"),
    (("fp", "--bench", "--function", "f64_add"), "--function"),
    (("fp", "--bench", "--cycles", "7"), "--cycles"),
    (("soak", "--waves", "x.fst"), "--waves"),
    (("run", "barrier", "--algorithm", "tree", "--nodes", "2", "--output", "x.npy"), "--output"),
    ((*ROUTE, "--old-trees", "rebuild"), "--old-trees"),
    ((*ROUTE, "--merge-with", "sparse"), "--merge-with"),
    (("mpiexec", "-n", "2", "--compute-scale", "2", "true"), "--compute-scale"),
    ((*FLOWS, "--control", "hpcc", "--control", "hpcc"), "--control"),
    ((*FLOWS, "--control", "all", "--control", "hpcc"), "--control"),
    ((*FLOWS, "--control", "hpcc", "--set", "gain=0.5", "--set", "gain=0.25"), "--set"),
    (("run", *RUN, "--nodes", "3"), "--nodes"),
    (("bench", "osu", "allreduce", "--nodes", "2", "--nodes", "4"), "--nodes"),
]


@pytest.mark.parametrize(("arguments", "flag"), IDLE, ids=lambda part: part if isinstance(part, str) else "")
def test_is_refused(arguments: tuple[str, ...], flag: str, conic: Conic) -> None:
    outcome = conic(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    line, = outcome.err.splitlines()
    assert flag in line


def test_a_run_file_gives_flags_too(conic: Conic, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("load: 0.1\nsize: 4KiB\n")
    outcome = conic("congestion", "dumbbell:5", "--run-file", str(tmp_path / "run.yaml"))
    assert outcome.code == 2
    assert "--size: does nothing without --collective; leave it out" in outcome.err


@pytest.mark.parametrize("held", ["float32", "float64", "int64"])
@pytest.mark.parametrize("asked", ["float32", "float64", "int64", "int32"])
def test_type_beside_a_file(held: str, asked: str, conic: Conic, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.ones((2, 8), held))
    expected = "--nodes: must be 2 as in --input" if held == asked else \
        f"--dtype: must be {held} as in --input, or left out, not '{asked}'"
    outcome = conic("run", "allreduce", "--algorithm", "ring", "--input", str(path), "--dtype", asked,
                    *(("--nodes", "3") if held == asked else ()))
    assert outcome.code == 2
    assert expected in outcome.err


@pytest.mark.parametrize(("collective", "algorithm"), [
    ("exscan", "distance-doubling"), ("scan", "distance-doubling"), ("reduce", "binomial"), ("allreduce", "ring"),
])
def test_collectives_with_an_operator(collective: str, algorithm: str, conic: Conic) -> None:
    assert reduces(collective, algorithm)
    for nodes in ("2", "5"):
        outcome = conic("run", collective, "--algorithm", algorithm, "--nodes", nodes, "--size", "40", "--op", "nand")
        assert outcome.code == 2
        assert "op must be one of sum" in outcome.err


@pytest.mark.parametrize("nodes", [2, pytest.param(5, marks=pytest.mark.long)])
def test_exscan_has_an_operator(nodes: int, conic: Conic) -> None:
    outcome = conic("run", "exscan", "--algorithm", "distance-doubling", "--nodes", str(nodes), "--size", "40", "--op",
                    "max")
    assert outcome.code == 0, outcome.err
