"""Mean and covariance of a data set that is spread over nodes, from sums that can be all-reduced."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Mean of every feature, and the covariance of every two."""

    mean: FloatArray
    covariance: FloatArray

    def same_bits(self, other: "Moments") -> bool:
        """True if both are the same numbers, bit for bit."""
        return self.mean.tobytes() == other.mean.tobytes() and self.covariance.tobytes() == other.covariance.tobytes()


def load_shards(n_nodes: int) -> tuple[list[FloatArray], list[str]]:
    """The Wisconsin breast cancer data set (569 samples of 30 features), its samples dealt out to nodes in order.

    Returns
    -------
    tuple
        One array of shape (samples, features) per node, and the features' names.
    """
    from sklearn.datasets import load_breast_cancer  # takes a second to import: only if needed

    data: Any = load_breast_cancer()
    return np.array_split(np.asarray(data.data, dtype=np.float64), n_nodes), [str(name) for name in data.feature_names]


def partial_sums(shard: FloatArray) -> FloatArray:
    """Contribution of one node: number of samples, sums of the features, sums of their products.

    Products are symmetric, so the upper triangle is enough: 1 + d + d(d + 1)/2 elements for d features.
    """
    products = shard.T @ shard
    upper = products[np.triu_indices(shard.shape[1])]
    return np.concatenate(([float(len(shard))], shard.sum(axis=0), upper))


def moments(sums: FloatArray, n_features: int) -> Moments:
    """Mean and (unbiased) covariance from the sums over all nodes.

    Examples
    --------
    >>> shards = [np.array([[1.0], [2.0]]), np.array([[3.0]])]
    >>> result = moments(sum(partial_sums(shard) for shard in shards), 1)
    >>> result.mean, result.covariance
    (array([2.]), array([[1.]]))
    """
    count, feature_sums = sums[0], sums[1:1 + n_features]
    products = np.zeros((n_features, n_features))
    rows, columns = np.triu_indices(n_features)
    products[rows, columns] = products[columns, rows] = sums[1 + n_features:]
    mean = feature_sums / count
    return Moments(mean=mean, covariance=(products - count * np.outer(mean, mean)) / (count - 1))
