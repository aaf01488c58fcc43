"""Moments from partial sums agree with NumPy's on the whole data set."""

import numpy as np
import pytest

from sim.demo.moments import load_shards, moments, partial_sums


@pytest.mark.parametrize("n_nodes", [1, 3, 4])
def test_agrees_with_numpy(n_nodes: int) -> None:
    shards, names = load_shards(n_nodes)
    samples = np.concatenate(shards)
    assert samples.shape == (569, 30) == (569, len(names))
    result = moments(np.sum([partial_sums(shard) for shard in shards], axis=0), len(names))
    np.testing.assert_allclose(result.mean, samples.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(result.covariance, np.cov(samples.T), rtol=1e-7, atol=1e-9)


def test_same_bits_tells_signed_zero() -> None:
    """Bits, not values: -0.0 equals 0.0 but is another result."""
    zero = moments(partial_sums(np.array([[0.0], [0.0]])), 1)
    negative = type(zero)(mean=-zero.mean, covariance=zero.covariance)
    assert zero.same_bits(zero)
    assert not zero.same_bits(negative)
