"""The worked example: conjugate gradients whose sums the NICs make."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, cg

from firmware_models.config import load_preset
from firmware_models.golden import reference
from sim.example.cg_run import run_on_cluster
from sim.example.conjugate_gradient import Operator, Problem, Sum, solve
from sim.example.lockstep import lockstep
from sim.example.mpich import MPIEXEC, mpich_histories

SIDE, RANKS = 5, 5


def golden(algorithm):
    """A way to make sums without hardware."""
    return lambda rows: reference("allreduce", algorithm, rows).results


def histories(algorithm="recursive-doubling", side=SIDE, ranks=RANKS):
    """Histories of all ranks, without hardware."""
    problem = Problem(side, ranks)
    return lockstep([solve(problem, rank) for rank in range(ranks)], golden(algorithm))


def test_it_solves_the_system():
    """As many steps, but for rounding, as SciPy's conjugate gradients take for the same matrix."""
    side = 12
    problem, zeros = Problem(side, 1), np.zeros(side)
    operator = Operator(problem, 0)
    norms = []
    matrix = LinearOperator(
        (side * side, side * side), matvec=lambda x: operator(x.reshape(side, side), zeros, zeros).ravel()
    )
    heat = problem.heat().ravel()
    cg(matrix, heat, rtol=1e-10, callback=lambda x: norms.append(np.linalg.norm(heat - matrix @ x)))
    ours = histories(side=side, ranks=4)[0]
    assert abs(len(ours) - 1 - len(norms)) < 0.05 * len(norms)
    np.testing.assert_allclose(ours[1:20], norms[:19], rtol=1e-6)


def test_the_matrix_is_symmetric():
    rng = np.random.default_rng(1)
    problem, zeros = Problem(7, 1), np.zeros(7)
    operator = Operator(problem, 0)
    x, y = rng.standard_normal((2, 7, 7))
    assert np.isclose((operator(x, zeros, zeros) * y).sum(), (operator(y, zeros, zeros) * x).sum())


def test_bits_on_the_cluster_and_under_mpich():
    """On the RTL, under two disturbances, and under MPICH: one history, bit for bit."""
    expected = histories()
    assert len(expected[0]) > 15
    config = load_preset("small")
    for order in (None, 1):
        run = run_on_cluster(
            Problem(SIDE, RANKS), algorithm="recursive-doubling", config=config, preset="small", seed=3, order=order
        )
        assert run.mismatched_bits == 0
        assert run.operations == len(expected[0])
        assert run.histories == expected
    if MPIEXEC.exists():
        assert mpich_histories(side=SIDE, ranks=RANKS, algorithm="recursive-doubling") == expected


def test_another_order_of_additions_gives_another_history():
    """Negative control: bits do depend on the association, so agreement says something."""
    assert histories("ring") != histories("recursive-doubling")


def test_programs_that_part():
    def stops():
        yield Sum(np.zeros(1))
        return []

    with pytest.raises(RuntimeError, match=r"^ranks ask for different things$"):
        lockstep([stops(), solve(Problem(4, 2), 1)], golden("recursive-doubling"))
