"""Carriers of MPI's elements and operators in the reduce unit, and how one becomes the other, bit for bit."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_models.abi.encoding import Datatype, Operator
from firmware_models.golden.arithmetic import DTYPES

Bytes = NDArray[np.uint8]


class Element(IntEnum):
    """Element types of MPI, those together that lie alike in memory and are computed with alike."""

    FLOAT64 = 0
    FLOAT32 = 1
    COMPLEX128 = 2
    COMPLEX64 = 3
    INT64 = 4
    UINT64 = 5
    INT32 = 6
    UINT32 = 7
    INT16 = 8
    UINT16 = 9
    INT8 = 10
    UINT8 = 11
    BYTE = 12
    BOOL = 13
    DOUBLE_INT = 14
    FLOAT_INT = 15
    TWO_INT = 16


class MpiOp(IntEnum):
    """Predefined operators of MPI, by the numbers of ``interposer/wire.h``: those that the reduce unit has bear its
    names, others are on truth values."""

    SUM = 0
    MIN = 1
    MAX = 2
    PROD = 3
    AND = 4
    OR = 5
    XOR = 6
    MINLOC = 7
    MAXLOC = 8
    LAND = 9
    LOR = 10
    LXOR = 11


@dataclass(frozen=True)
class Carrier:
    """Datatype and operator of the reduce unit that carry elements of MPI.

    Members
    -------
    datatype, operator : Datatype, Operator
        The unit's.
    own, lane : dtype, optional
        How elements lie in the program and in hardware; None where they lie alike.
    truth : bool
        Elements count as true or false, and results are 1 or 0.
    """

    datatype: Datatype
    operator: Operator
    own: np.dtype[Any] | None = None
    lane: np.dtype[Any] | None = None
    truth: bool = False

    @property
    def converts(self) -> bool:
        """True if elements lie otherwise in hardware."""
        return self.own is not None

    @property
    def ratio(self) -> int:
        """Bytes in hardware of a byte of the program's."""
        return self.lane.itemsize // self.own.itemsize if self.own is not None and self.lane is not None else 1

    def load(self, operand: Bytes) -> Bytes:
        """The operand as hardware wants it; the array itself if that is as the program has it."""
        if self.own is None or self.lane is None:
            return operand
        values = operand.view(self.own)
        if self.truth:
            values = values != 0
        if self.lane.names is None:
            return values.astype(self.lane).view(np.uint8)
        found = np.zeros(len(values), self.lane)
        found["value"], found["index"] = values["value"], values["index"]
        return found.view(np.uint8)

    def room(self, result: Bytes) -> Bytes:
        """Where hardware may put its result: the program's own room if elements lie there as in hardware."""
        return np.empty(len(result) * self.ratio, np.uint8) if self.converts else result

    def unload(self, lanes: Bytes, result: Bytes) -> None:
        """Writes what hardware gives to where the program has it. Integers keep their low bits."""
        if self.own is None or self.lane is None:
            result[:] = lanes
            return
        values, found = lanes.view(self.lane), result.view(self.own)
        if self.lane.names is None:
            found[:] = values.astype(self.own)
        else:
            found["value"], found["index"] = values["value"].astype(self.own["value"]), values["index"]


_ARITHMETIC = frozenset({MpiOp.SUM, MpiOp.MIN, MpiOp.MAX, MpiOp.PROD})
_BITS = frozenset({MpiOp.AND, MpiOp.OR, MpiOp.XOR})
_TRUTH = {MpiOp.LAND: Operator.AND, MpiOp.LOR: Operator.OR, MpiOp.LXOR: Operator.XOR}
_PLACES = frozenset({MpiOp.MINLOC, MpiOp.MAXLOC})
_FLOATS = {Element.FLOAT64: Datatype.FLOAT64, Element.FLOAT32: Datatype.FLOAT32}
_COMPLEX = {Element.COMPLEX128: Datatype.FLOAT64, Element.COMPLEX64: Datatype.FLOAT32}
_INTEGERS: dict[Element, np.dtype[Any]] = {
    Element.INT64: np.dtype("<i8"), Element.UINT64: np.dtype("<u8"), Element.INT32: np.dtype("<i4"),
    Element.UINT32: np.dtype("<u4"), Element.INT16: np.dtype("<i2"), Element.UINT16: np.dtype("<u2"),
    Element.INT8: np.dtype("i1"), Element.UINT8: np.dtype("u1"),
}
_PAIRS: dict[Element, np.dtype[Any]] = {
    Element.FLOAT_INT: np.dtype([("value", "<f4"), ("index", "<i4")]),
    Element.TWO_INT: np.dtype([("value", "<i4"), ("index", "<i4")]),
}
_WIDER = (Datatype.INT32, Datatype.INT64, Datatype.UINT64)


def carrier(
    element: int, op: int, *, able: Collection[tuple[Datatype, Operator]], prefix: bool = False
) -> Carrier | None:
    """Finds the carrier of a reduction on a reduce unit that is `able`; None if there is none.

    Parameters
    ----------
    element, op : int
        Of :class:`Element` and :class:`MpiOp`.
    able : collection
        Datatypes and operators of the unit.
    prefix : bool
        Some results have gone through no operator, as in scans: what an operator would make of them may not be made.
    """
    found = _candidates(Element(element), MpiOp(op), prefix)
    return next((each for each in found if (each.datatype, each.operator) in able), None)


def _candidates(element: Element, op: MpiOp, prefix: bool) -> list[Carrier]:
    if op in _TRUTH:
        own = np.dtype("u1") if element is Element.BOOL else _INTEGERS.get(element)
        if own is None or prefix:
            return []
        return [Carrier(datatype, _TRUTH[op], own, own, truth=True) for datatype in (Datatype.UINT64, Datatype.INT64)]
    operator = Operator[op.name]
    if op in _BITS and (element in _INTEGERS or element is Element.BYTE):
        # Bits are bits: the last lane may be filled with anything.
        return [Carrier(datatype, operator) for datatype in (Datatype.UINT64, Datatype.INT64)]
    if op in _PLACES:
        if element is Element.DOUBLE_INT:
            return [Carrier(Datatype.DOUBLE_INT, operator)]
        # Singles and integers of 32 bits are doubles, and come back as they were.
        pair, lane = _PAIRS.get(element), DTYPES[Datatype.DOUBLE_INT]
        return [] if pair is None else [Carrier(Datatype.DOUBLE_INT, operator, pair, lane)]
    if op not in _ARITHMETIC:
        return []
    if element in _FLOATS:
        return [Carrier(_FLOATS[element], operator)]
    if element in _COMPLEX:  # a sum of complex numbers is that of their parts
        return [Carrier(_COMPLEX[element], operator)] if op is MpiOp.SUM else []
    return _integers(_INTEGERS[element], operator) if element in _INTEGERS else []


def _integers(own: np.dtype[Any], operator: Operator) -> list[Carrier]:
    """Carriers with room for these integers, the narrowest first; sums and products keep their low bits in any of them.
    """
    found = []
    for datatype in _WIDER:
        lane = DTYPES[datatype]
        wraps = operator in (Operator.SUM, Operator.PROD)
        if lane.itemsize == own.itemsize and (wraps or lane == own):
            found.append(Carrier(datatype, operator))
        elif lane.itemsize > own.itemsize and (wraps or lane.kind == "i" or own.kind == "u"):
            found.append(Carrier(datatype, operator, own, lane))
    return found
