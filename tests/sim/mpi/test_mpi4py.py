"""mpi4py's own tests of collectives on the NICs: the same pass as under MPICH alone, and none is left out."""

import re
import subprocess
import sys
import tarfile
from importlib.metadata import version

import pytest

from sim.mpi.interposer import tool

# Ranks write at once, and a line in pieces: numbers and verdicts are looked for anywhere.
COUNT = re.compile(r"Ran (\d+) tests? in")
VERDICT = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \([^)]*\))?")
LONG = [
    "test_cco_buf", "test_cco_vec", "test_cco_nb_buf", "test_cco_nb_vec", "test_cco_buf_inter", "test_cco_vec_inter",
    "test_cco_obj_inter",
]


@pytest.fixture(scope="session")
def sources(tmp_path_factory):
    """The folder with the tests, from mpi4py's source distribution of the version that is installed."""
    folder = tmp_path_factory.mktemp("mpi4py")
    wanted = f"mpi4py=={version('mpi4py')}"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "mpi4py", "-d", folder]
    done = subprocess.run([*command, wanted], capture_output=True, text=True, check=False, timeout=300)
    archives = list(folder.glob("*.tar.gz"))
    if not archives:
        pytest.skip(f"pip has no sources of {wanted}: {done.stderr.strip().splitlines()[-1:]}")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    found, = folder.glob("mpi4py-*/test")
    return found


def summaries(text):
    """Number of tests of each rank, and their verdicts, sorted."""
    return sorted(map(int, COUNT.findall(text))), sorted(VERDICT.findall(text))


def compare(run, capfd, sources, suite, ranks):
    """Runs a suite on the NICs and under MPICH alone; the share of calls that were offloaded."""
    command = [sys.executable, str(sources / "runtests.py"), "-q", suite]
    plain = subprocess.run(
        [tool("mpiexec"), "-n", str(ranks), *command], capture_output=True, text=True, timeout=600, check=False
    )
    capfd.readouterr()
    result = run(suite, ranks=ranks, command=command, patience=60.0)
    captured = capfd.readouterr()
    assert (result.code, result.error) == (plain.returncode, None)
    assert summaries(captured.err + captured.out) == summaries(plain.stderr + plain.stdout) != ([], [])
    print(f"{suite}, {ranks} ranks: {result.report['offloaded']} of {result.report['calls']} calls offloaded")
    return result.report["offloaded_fraction"]


def test_objects(run, capfd, sources):
    """Objects, which go as their lengths and their bytes."""
    assert compare(run, capfd, sources, "test_cco_obj", 2) > 0.5


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("suite", LONG)
def test_suite(run, capfd, sources, suite, ranks):
    fraction = compare(run, capfd, sources, suite, ranks)
    assert fraction > 0.3 or suite.endswith("inter")
