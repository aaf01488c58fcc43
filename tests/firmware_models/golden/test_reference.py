"""The reference against sums written out by hand, and what it refuses."""

import numpy as np
import pytest

from firmware_models.abi.encoding import Datatype, Operator
from firmware_models.golden import mismatched_bits, reference, sha256


def data(n_nodes, elements=50):
    """Doubles whose sums differ with every change of the order."""
    rng = np.random.default_rng(n_nodes)
    return rng.standard_normal((n_nodes, elements)) * 10.0 ** rng.integers(-8, 8, (n_nodes, elements))


def test_reduce_of_five():
    """Root 3: relative ranks 0 to 4 are ranks 3, 4, 0, 1, 2; own + child 1 + child 2 + child 4."""
    x = data(5)
    by_hand = ((x[3] + x[4]) + (x[0] + x[1])) + x[2]
    golden = reference("reduce", "binomial", x, root=3)
    assert golden.receives.tolist() == [False, False, False, True, False]
    assert mismatched_bits(golden.results[3], by_hand) == 0
    assert not golden.results[[0, 1, 2, 4]].any()


def test_allreduce_of_five():
    """Ranks 0 and 1 make the first leaf of a tree of four."""
    x = data(5)
    by_hand = ((x[0] + x[1]) + x[2]) + (x[3] + x[4])
    golden = reference("allreduce", "recursive-doubling", x)
    assert golden.receives.all()
    assert all(mismatched_bits(row, by_hand) == 0 for row in golden.results)


def test_allreduce_of_eleven():
    """The first six ranks make three leaves of a tree of eight."""
    x = data(11)
    leaves = [x[0] + x[1], x[2] + x[3], x[4] + x[5], *x[6:]]
    by_hand = ((leaves[0] + leaves[1]) + (leaves[2] + leaves[3])) + ((leaves[4] + leaves[5]) + (leaves[6] + leaves[7]))
    assert mismatched_bits(reference("allreduce", "recursive-doubling", x).results[10], by_hand) == 0


@pytest.mark.parametrize("n_nodes", [5, 9, 10, 11, 13, 17, 23])
def test_orders_are_told_apart(n_nodes):
    """At these counts the two trees, and the tree of another root, give other bits: tests there prove something."""
    x = data(n_nodes)
    binomial = reference("reduce", "binomial", x).results[0]
    assert mismatched_bits(binomial, reference("allreduce", "recursive-doubling", x).results[0]) > 0
    assert mismatched_bits(binomial, reference("reduce", "binomial", x, root=1).results[1]) > 0
    assert mismatched_bits(binomial, x.sum(axis=0)) > 0


@pytest.mark.parametrize("n_nodes", [2, 3, 4, 6, 7, 8, 12, 14, 15, 16, 24])
def test_orders_that_agree(n_nodes):
    """At these counts both trees associate in one way, so their bits agree."""
    x = data(n_nodes)
    binomial = reference("reduce", "binomial", x).results[0]
    assert mismatched_bits(binomial, reference("allreduce", "recursive-doubling", x).results[0]) == 0


def test_moved_data_keep_their_bits():
    """A broadcast does not compute: signalling NaNs and their payloads stay."""
    x = np.array([[0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF], [0, 0]], np.uint64).view(np.float64)
    assert mismatched_bits(reference("broadcast", "binomial", x).results[1], x[0]) == 0


def test_integers_in_any_order():
    """Integer results do not depend on the order, so plain NumPy knows them."""
    x = np.random.default_rng(3).integers(-(1 << 63), (1 << 63) - 1, (13, 20))
    for operator, whole in ((Operator.SUM, x.sum(axis=0)), (Operator.MAX, x.max(axis=0)),
                            (Operator.XOR, np.bitwise_xor.reduce(x))):
        got = reference("reduce", "binomial", x, root=7, datatype=Datatype.INT64, operator=operator).results[7]
        assert mismatched_bits(got, whole) == 0


def test_refused():
    """Unknown names; arrays of another shape or type."""
    with pytest.raises(ValueError, match=r"^collective and algorithm must be one of .*, not reduce ring$"):
        reference("reduce", "ring", data(2))
    with pytest.raises(ValueError, match=r"^inputs must be of shape \(nodes, elements\) and type float64, not \(2,\)"):
        reference("reduce", "binomial", np.zeros(2))
    with pytest.raises(ValueError, match=r"not \(2, 2\) float32$"):
        reference("reduce", "binomial", np.zeros((2, 2), np.float32))


def test_result_figures():
    """Digest and bit count are of raw bits, whatever the memory layout."""
    x = np.arange(6.0).reshape(2, 3)
    assert sha256(x) == sha256(np.asfortranarray(x)) == sha256(x.astype(">f8"))
    assert sha256(np.array([0.0])) != sha256(np.array([-0.0]))
    assert sha256(np.zeros(0)) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert mismatched_bits(np.array([1.0, 0.0]), np.array([-1.0, 5e-324])) == 2
    with pytest.raises(ValueError, match="arrays must be alike, not float64"):
        mismatched_bits(np.zeros(2), np.zeros(3))
