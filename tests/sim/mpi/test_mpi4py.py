"""mpi4py's own tests of collectives on the NICs: test by test the same as under MPICH alone."""

import contextlib
import json
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from sim.mpi.fabric import Fabric
from sim.mpi.interposer import tool
from sim.mpi.wire import Collective

PROGRAM = Path(__file__).with_name("programs") / "suite.py"
PIN = tomllib.loads(Path(__file__).with_name("pins.toml").read_text())["mpi4py"]
FEW = ["test_cco_obj", "test_cco_obj_inter"]
"""Suites for which every run of the tests has time, at two ranks."""
SUITES = [
    *FEW, "test_cco_buf", "test_cco_vec", "test_cco_nb_buf", "test_cco_nb_vec", "test_cco_pr_buf", "test_cco_pr_vec",
    "test_cco_buf_inter", "test_cco_vec_inter",
]
LEAST = {2: 0.35, 4: 0.5}
"""Share of calls that are offloaded at the least: at two ranks many are of communicators of one."""


@pytest.fixture(scope="session")
def sources(fetched):
    """The folder with the tests, from mpi4py's source distribution."""
    archive = fetched("mpi4py")
    found = archive.parent / archive.name.removesuffix(".tar.gz") / "test"
    if not found.exists():
        # Whole or not at all: another process may be about it too.
        with tempfile.TemporaryDirectory(dir=archive.parent) as own, tarfile.open(archive) as opened:
            opened.extractall(own, filter="data")
            with contextlib.suppress(OSError):
                (Path(own) / found.parent.name).rename(found.parent)
    return found


def verdicts(folder, ranks):
    """Verdict of each test, at each rank."""
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(ranks)]


def compare(run, sources, folder, suite, ranks):
    """Runs a suite under MPICH alone and on the NICs; the report of the latter."""
    plain, offloaded = folder / "plain", folder / "offloaded"
    plain.mkdir()
    offloaded.mkdir()
    command = [sys.executable, str(PROGRAM), str(sources)]
    done = subprocess.run(
        [tool("mpiexec"), "-n", str(ranks), *command, str(plain), suite], timeout=600, check=False
    )
    result = run(suite, ranks=ranks, command=[*command, str(offloaded), suite], patience=60.0)
    expected = verdicts(plain, ranks)
    assert verdicts(offloaded, ranks) == expected
    assert (result.code, result.error, done.returncode) == (0, None, 0)
    assert all(set(each.values()) == {"passed"} for each in expected)
    report = result.report
    print(f"{suite}, {ranks} ranks: {len(expected[0])} tests, {report['offloaded']:,} of {report['calls']:,} calls "
          f"offloaded; by MPI: {[tuple(row.values()) for row in report['passed']]}")
    return report


def test_the_pin_is_what_is_installed():
    assert PIN["version"] == version("mpi4py")


@pytest.mark.parametrize("suite", FEW)
def test_objects(run, sources, tmp_path, suite):
    """Objects, which go as their lengths and their bytes; what is between two groups is MPI's, and said."""
    report = compare(run, sources, tmp_path, suite, 2)
    if suite.endswith("inter"):
        reasons = {row["reason"] for row in report["passed"]}
        assert reasons == {"an intercommunicator", "a communicator of one rank"}
    else:
        assert report["offloaded_fraction"] > 0.5


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("suite", SUITES)
def test_suite(run, sources, tmp_path, suite, ranks):
    report = compare(run, sources, tmp_path, suite, ranks)
    if not suite.endswith("inter"):
        assert report["offloaded_fraction"] > LEAST[ranks]


def test_a_verdict_that_differs_is_seen(run, sources, tmp_path, monkeypatch):
    """Negative control: the last byte of each scan is changed on its way from the NICs to the program."""
    collect = Fabric._collect

    def collect_wrongly(self, running):
        collect(self, running)
        for result in running.results if running.operation.collective is Collective.SCAN else ():
            result[-1:] ^= 0xFF

    monkeypatch.setattr(Fabric, "_collect", collect_wrongly)
    with pytest.raises(AssertionError, match="failed: "):
        compare(run, sources, tmp_path, "test_cco_buf.TestCCOBufWorld.testScan", 2)
