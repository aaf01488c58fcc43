"""Fingerprints and differences of results, by raw bits."""

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt


def sha256(array: npt.NDArray[Any]) -> str:
    """SHA-256, in hex, of the elements' bytes in C order (little-endian, as they stand in host memory).

    Examples
    --------
    >>> sha256(np.zeros(0))[:8]
    'e3b0c442'
    """
    plain = np.ascontiguousarray(array)
    return hashlib.sha256(plain.astype(plain.dtype.newbyteorder("<"), copy=False).tobytes()).hexdigest()


def mismatched_bits(got: npt.NDArray[Any], expected: npt.NDArray[Any]) -> int:
    """Number of bits that differ; NaNs are compared by their bits like everything else.

    Raises
    ------
    ValueError
        If the arrays differ in shape or element type: then no count would mean anything.

    Examples
    --------
    >>> mismatched_bits(np.array([0.0]), np.array([-0.0]))
    1
    """
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise ValueError(
            f"arrays must be alike, not {got.dtype} {got.shape} and {expected.dtype} {expected.shape}"
        )
    a, b = (np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8) for array in (got, expected))
    return int(np.bitwise_count(a ^ b).sum())
