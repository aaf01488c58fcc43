"""Combines two operands as a host's processor does: element by element, with the NaN and the zeros that NICs have.

A host that is to give the bits of a NIC has to agree with it on what IEEE 754 leaves open: which NaN comes out, and
that -0 is less than +0. Comparisons are made here on integers that are in the order of the numbers. Shared with
nothing: the golden models check it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_PLAIN = {"sum": np.add, "prod": np.multiply, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def combined(left: Array, right: Array, op: str) -> Array:
    """`left` OP `right`, both of the element type; `op` is an operator's name.

    Examples
    --------
    >>> combined(np.array([0.0, 1.0]), np.array([-0.0, 2.0]), "min").tolist()
    [-0.0, 1.0]
    """
    with np.errstate(all="ignore"):
        if op in ("minloc", "maxloc"):
            return _located(left, right, op)
        if op in _PLAIN:
            result: Array = _PLAIN[op](left, right)
        else:
            least = _ranks(left) <= _ranks(right)
            result = np.where(least == (op == "min"), left, right)
            if result.dtype.kind == "f":
                result[np.isnan(left) | np.isnan(right)] = np.nan
    if result.dtype.kind == "f":
        result[np.isnan(result)] = np.nan
    return result


def _ranks(numbers: Array) -> Array:
    """Integers in the order of `numbers`, which may be integers themselves."""
    if numbers.dtype.kind != "f":
        return numbers
    bits = numbers.view(f"i{numbers.itemsize}")
    return np.where(bits < 0, -1 - (bits & np.iinfo(bits.dtype).max), bits)


def _located(left: Array, right: Array, op: str) -> Array:
    """The extreme of the values, with its index: the lower one of equals, and a NaN before every number."""
    # Keys that are compared one after the other: NaN or not, the value (both zeros alike), the index.
    values = [side["value"] + 0.0 for side in (left, right)]
    nans = [np.isnan(value) for value in values]
    sign = 1 if op == "minloc" else -1
    numbers = [sign * np.where(nan, 0.0, value) for value, nan in zip(values, nans, strict=True)]
    first = np.where(
        nans[0] != nans[1], nans[0],
        np.where(numbers[0] != numbers[1], numbers[0] < numbers[1], left["index"] <= right["index"]),
    )
    result = np.zeros(left.shape, left.dtype)
    result["value"] = combined(left["value"].copy(), right["value"].copy(), op[:3])
    result["index"] = np.where(first, left["index"], right["index"])
    return result
