"""Grids on the workers of a Dask cluster: the same rows by any number of workers, and none by strangers."""

import builtins
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, LocalCluster

from sim.study import StudyError
from sim.study.grid import Grid, Point, dask_crew, run_grid

PROGRAM = """
import os


def square(number, fails_at):
    if fails_at == "die":
        os._exit(1)
    if number == fails_at:
        raise ArithmeticError(f"no square of {number}")
    return {"square": number * number, "seconds": 0.0, "process": os.getpid()}
"""


@pytest.fixture(scope="module")
def squares(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A module that workers find, too."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "dask_program.py").write_text(PROGRAM)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield importlib.import_module("dask_program")


@pytest.fixture(scope="module")
def cluster(squares: Any) -> Iterator[LocalCluster]:
    """Two workers, each a process of its own; what ends one is not tried again."""
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50,
    ) as local:
        yield local


def rows(squares: Any, path: Path, scheduler: str | None, *, fails_at: int | str = -1) -> list[dict[str, Any]]:
    points = [Point((("kind", "point"), ("number", n)), (n, fails_at), n + 1.0) for n in range(6)]
    grid = Grid(head={"study": "squares"}, points=points, measure=squares.square, work_a_second=1e9)
    return run_grid(grid, path, processes=1, limit=None, scheduler=scheduler, progress=lambda *_: None,
                    prepare=lambda: scheduler is None or pytest.fail("nothing is prepared for others"))


def test_any_number_of_workers(squares: Any, cluster: LocalCluster, tmp_path: Path) -> None:
    found = {}
    for number, scheduler in ((2, cluster.scheduler_address), (0, None)):
        found[number] = rows(squares, tmp_path / f"{number}", scheduler)
    processes = {number: {row.pop("process") for row in each} for number, each in found.items()}
    assert found[2] == found[0] == [
        {"kind": "point", "number": n, "square": n * n, "seconds": 0.0} for n in range(6)
    ]
    assert processes[2].isdisjoint(processes[0])
    assert len(processes[2]) == 2
    # Rows are kept as they come, and gone on with by whomever.
    assert rows(squares, tmp_path / "2", None)[3]["square"] == 9


def test_a_failure_at_a_worker(squares: Any, cluster: LocalCluster, tmp_path: Path) -> None:
    """It is told here, and what was measured before is kept."""
    path = tmp_path / "rows"
    with pytest.raises(ArithmeticError, match="no square of 0"):
        rows(squares, path, cluster.scheduler_address, fails_at=0)
    assert len(path.read_text().splitlines()) == 6


@pytest.mark.parametrize(("name", "value"), [("sources", "0123"), ("numpy", "1.0"), ("python", "3.99")])
def test_other_workers(name: str, value: str, squares: Any, cluster: LocalCluster, tmp_path: Path,
                       monkeypatch: pytest.MonkeyPatch) -> None:
    mine = dask_crew.identity() | {name: value}
    monkeypatch.setattr(dask_crew, "identity", lambda: mine)
    with pytest.raises(StudyError, match=rf"--scheduler: worker tcp://\S+ must have {name} {value}, as here, not "):
        rows(squares, tmp_path / "rows", cluster.scheduler_address)
    assert not (tmp_path / "rows").exists()


def test_a_worker_that_comes_late(cluster: LocalCluster) -> None:
    """Work sent to a worker is carried out by none of other sources, whenever it has come."""
    mine = dask_crew.identity() | {"sources": "0123"}
    with Client(cluster.scheduler_address, set_as_default=False) as client:
        future = client.submit(dask_crew.measure_at_worker, mine, dict, ((),))
        with pytest.raises(StudyError, match="must have sources 0123, as here, not "):
            future.result()


def test_a_worker_without_conic() -> None:
    refusal = dask_crew._difference("tcp://w:1", ModuleNotFoundError("No module named 'sim'\n…"), {})
    assert refusal == "--scheduler: worker tcp://w:1 must have this version of conic: No module named 'sim'"


def test_no_scheduler(squares: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_crew, "_CONNECT_SECONDS", 0.2)
    for address, reason in (("tcp://127.0.0.1:1", "Timed out"), ("nonsense://x", "unknown address scheme")):
        with pytest.raises(StudyError, match=f"must be the address of a Dask scheduler.*not '{address}': .*{reason}"):
            rows(squares, tmp_path / "rows", address)


def test_threads_and_no_workers(squares: Any, tmp_path: Path) -> None:
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0", silence_logs=50) as local:
        with pytest.raises(StudyError, match=r"--scheduler: 'inproc://\S+' must have workers"):
            rows(squares, tmp_path / "rows", local.scheduler_address)
        local.scale(1)
        with Client(local, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=20)
        with pytest.raises(StudyError, match=r"worker inproc://\S+ must have 1 thread \(--nthreads 1\), not "):
            rows(squares, tmp_path / "rows", local.scheduler_address)


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    there = builtins.__import__

    def absent(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "distributed":
            raise ImportError(name)
        return there(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(StudyError, match=r"--scheduler: needs the package distributed.*pip install 'conic\[dask\]'"):
        dask_crew.Workers("tcp://127.0.0.1:8786")


def test_workers_that_die(squares: Any, cluster: LocalCluster, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"--scheduler: must keep its workers .*\(KilledWorker\)"):
        rows(squares, tmp_path / "rows", cluster.scheduler_address, fails_at="die")
