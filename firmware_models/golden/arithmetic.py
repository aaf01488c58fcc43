"""Element arithmetic of the reduce unit, in NumPy.

Floating point is IEEE 754, round to nearest even, subnormals included. Every operation that yields a NaN yields the
canonical one, whatever its operands were. ``MIN`` and ``MAX`` are IEEE 754-2019 minimum and maximum: NaN if an operand
is NaN, and -0 is less than +0. Integers wrap. ``MINLOC`` and ``MAXLOC`` give such a minimum or maximum with the index
that belongs to it: of equal numbers, the zeros among them, the lower index; a NaN comes before every number, whatever
is sought, so the result tells where the first one is. So all operators here are commutative, bit for bit.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from firmware_models.abi.encoding import Datatype, Operator

Array = npt.NDArray[Any]

DTYPES: dict[Datatype, np.dtype[Any]] = {
    Datatype.FLOAT64: np.dtype("<f8"), Datatype.INT64: np.dtype("<i8"), Datatype.UINT64: np.dtype("<u8"),
    Datatype.FLOAT32: np.dtype("<f4"), Datatype.INT32: np.dtype("<i4"), Datatype.BYTE: np.dtype("u1"),
    Datatype.DOUBLE_INT: np.dtype([("value", "<f8"), ("index", "<i4"), ("padding", "<u4")]),
}
"""NumPy types of the elements. C's ``struct { double value; int index; }`` has four bytes at its end that mean nothing:
here they have a name, and every operator makes them 0."""

_CANONICAL_NAN = {8: 0x7FF8000000000000, 4: 0x7FC00000}


def canonical_nan(dtype: npt.DTypeLike) -> Any:
    """The one NaN that arithmetic yields, as a scalar of floating-point type `dtype`: positive, quiet, payload 0.

    Examples
    --------
    >>> hex(canonical_nan("f8").view("u8"))
    '0x7ff8000000000000'
    """
    kind = np.dtype(dtype)
    return np.array(_CANONICAL_NAN[kind.itemsize], f"<u{kind.itemsize}").view(kind)[()]


def _minimum(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f":
        return np.minimum(a, b)
    # Of two equal operands only zeros differ in bits; the one with the sign is the smaller.
    least = np.where(np.signbit(a) | (a < b), a, b)
    return np.where(a == b, least, np.where(a < b, a, np.where(b < a, b, np.nan)))


def _maximum(a: Array, b: Array) -> Array:
    return np.maximum(a, b) if a.dtype.kind != "f" else -_minimum(-a, -b)


_ANY: dict[Operator, Callable[[Array, Array], Array]] = {
    Operator.SUM: np.add, Operator.MIN: _minimum, Operator.MAX: _maximum, Operator.PROD: np.multiply,
}
_INTEGER: dict[Operator, Callable[[Array, Array], Array]] = {
    Operator.AND: np.bitwise_and, Operator.OR: np.bitwise_or, Operator.XOR: np.bitwise_xor,
}


def _located(extreme: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def locate(a: Array, b: Array) -> Array:
        x, y = a["value"], b["value"]
        nan_x, nan_y = np.isnan(x), np.isnan(y)
        result = np.zeros(a.shape, a.dtype)
        value = extreme(x, y)
        result["value"] = np.where(np.isnan(value), canonical_nan(value.dtype), value)
        level = (x == y) | (nan_x & nan_y)
        from_a = np.where(nan_x | nan_y, nan_x, value == x)
        result["index"] = np.where(level, np.minimum(a["index"], b["index"]), np.where(from_a, a["index"], b["index"]))
        return result
    return locate


_LOCATING: dict[Operator, Callable[[Array, Array], Array]] = {
    Operator.MINLOC: _located(_minimum), Operator.MAXLOC: _located(_maximum),
}


def dtype_of(datatype: int) -> np.dtype[Any]:
    """NumPy type of the elements. Raises ValueError for datatypes without one."""
    try:
        return DTYPES[Datatype(datatype)]
    except (KeyError, ValueError):
        names = ", ".join(known.name.lower() for known in DTYPES)
        raise ValueError(f"datatype must be one of {names}, not {datatype!r}") from None


def operators_of(datatype: int) -> dict[Operator, Callable[[Array, Array], Array]]:
    """Operators that `datatype` can be reduced with."""
    kind = dtype_of(datatype)
    if datatype == Datatype.DOUBLE_INT:
        return _LOCATING
    if kind.kind == "f":
        return _ANY
    return {} if datatype == Datatype.BYTE else {**_ANY, **_INTEGER}


def combine(a: Array, b: Array, *, datatype: int, operator: int) -> Array:
    """``a`` OP ``b`` element by element; both are arrays of ``dtype_of(datatype)``.

    Raises
    ------
    ValueError
        If the datatype cannot be reduced with the operator.

    Examples
    --------
    >>> one = np.array([1.0, np.inf]); other = np.array([2.0, -np.inf])
    >>> combine(one, other, datatype=Datatype.FLOAT64, operator=Operator.SUM).view("u8")[1] == 0x7FF8000000000000
    np.True_
    """
    known = operators_of(datatype)
    if operator not in known:
        names = ", ".join(member.name.lower() for member in known) or "none"
        raise ValueError(f"operator of {Datatype(datatype).name.lower()} must be one of {names}, not {operator!r}")
    with np.errstate(all="ignore"):
        result = known[Operator(operator)](a, b)
        if result.dtype.kind == "f":
            nan = np.isnan(result)
            if nan.any():
                result = np.where(nan, canonical_nan(result.dtype), result)
    return result
