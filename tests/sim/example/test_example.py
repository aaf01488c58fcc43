"""The worked example: a plain MPI program whose sums the NICs make."""

import re
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.linalg import cg, spsolve

from firmware_models.config import load_preset
from sim.example.run import PROGRAM, on_nics, under_mpich
from sim.mpi.interposer import MpiError, tool

SIDE, RANKS = 5, 5


@pytest.fixture(scope="module", autouse=True)
def mpi():
    """Skips where there is no MPI."""
    try:
        tool("mpiexec")
    except MpiError as error:
        pytest.skip(str(error))


def run(*arguments, ranks):
    """Output of the program under MPICH alone."""
    command = [tool("mpiexec"), "-n", str(ranks), sys.executable, str(PROGRAM), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def matrix(side):
    """The matrix of the plate, from its links one by one."""
    def conductance(row, column):
        return 100.0 if column >= side // 2 else 1.0

    entries = []
    for row in range(side):
        for column in range(side):
            # The border's column 0 stands before the plate's first.
            here = conductance(row + 1, column + 1)
            for to_row, to_column in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
                link = 0.5 * (here + conductance(to_row + 1, to_column + 1))
                entries.append((row * side + column, row * side + column, link))
                if 0 <= to_row < side and 0 <= to_column < side:
                    entries.append((row * side + column, to_row * side + to_column, -link))
    rows, columns, values = zip(*entries, strict=True)
    return coo_array((values, (rows, columns)), shape=(side**2, side**2)).tocsc()


def test_it_solves_the_system(tmp_path):
    """SciPy's direct solution, in about as many steps as SciPy's conjugate gradients take."""
    side = 12
    done = run("--side", side, "--solution", tmp_path / "x.npy", ranks=4)
    assert done.returncode == 0, done.stderr
    heat = np.random.default_rng(side).standard_normal(side * side)
    np.testing.assert_allclose(np.load(tmp_path / "x.npy").ravel(), spsolve(matrix(side), heat), rtol=1e-7, atol=1e-9)
    steps = []
    cg(matrix(side), heat, rtol=1e-10, callback=steps.append)
    said = re.fullmatch(r"(\d+) steps, residual \S+, the same at all 4 ranks, sha256 [0-9a-f]{64}\n", done.stdout)
    assert abs(int(said[1]) - len(steps)) < 0.05 * len(steps)


def test_bits_on_the_nics_and_under_mpich():
    """On the RTL, undisturbed and disturbed, and under MPICH: one history, bit for bit."""
    config = load_preset("small")
    expected = under_mpich(side=SIDE, ranks=RANKS, algorithm="recursive-doubling")
    assert len(expected[0]) > 15
    for disturbance in (None, 1):
        found = on_nics(
            side=SIDE, ranks=RANKS, algorithm="recursive-doubling", config=config, disturbance=disturbance
        )
        assert found.histories == expected
        row, = (row for row in found.report["operations"] if row["operation"] == "Allreduce")
        assert (row["operations"], row["algorithm"]) == (len(expected[0]), "recursive-doubling")


def test_another_order_of_additions_gives_another_history():
    """Negative control: bits do depend on the association, so agreement says something."""
    assert under_mpich(side=SIDE, ranks=RANKS, algorithm="ring") != under_mpich(
        side=SIDE, ranks=RANKS, algorithm="recursive-doubling"
    )


def test_too_few_rows():
    done = run("--side", 2, ranks=3)
    assert done.returncode != 0
    assert "--side must be at least the number of ranks, 3, not 2" in done.stderr
