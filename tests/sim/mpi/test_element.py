"""Carriers of MPI's elements through a reduce unit: NumPy's results, for every type and operator."""

import functools
import itertools

import numpy as np
import pytest

from firmware_models.abi.encoding import Datatype, Operator
from firmware_models.config.tree import ReduceConfig
from firmware_models.golden.arithmetic import combine, dtype_of
from rtl.reduce.operation import OPERATIONS, operations
from sim.mpi.element import Element, MpiOp, carrier

ABLE = {(able.datatype, able.operator) for able in OPERATIONS}
TYPES = {
    Element.FLOAT64: "f8", Element.FLOAT32: "f4", Element.INT64: "i8", Element.UINT64: "u8", Element.INT32: "i4",
    Element.UINT32: "u4", Element.INT16: "i2", Element.UINT16: "u2", Element.INT8: "i1", Element.UINT8: "u1",
    Element.BYTE: "u1", Element.BOOL: "u1",
}
FUNCTIONS = {
    MpiOp.SUM: np.add, MpiOp.MIN: np.minimum, MpiOp.MAX: np.maximum, MpiOp.PROD: np.multiply,
    MpiOp.AND: np.bitwise_and, MpiOp.OR: np.bitwise_or, MpiOp.XOR: np.bitwise_xor,
    MpiOp.LAND: np.logical_and, MpiOp.LOR: np.logical_or, MpiOp.LXOR: np.logical_xor,
}
BITS = {MpiOp.AND, MpiOp.OR, MpiOp.XOR}
TRUTHS = {MpiOp.LAND, MpiOp.LOR, MpiOp.LXOR}


def meant(element, op):
    """True if MPI has this pair, as far as the reduce unit can be made to do it."""
    if element in (Element.FLOAT64, Element.FLOAT32):
        return op not in BITS | TRUTHS
    if element is Element.BYTE:
        return op in BITS
    if element is Element.BOOL:
        return op in TRUTHS
    return True


def carried(found, operands, count):
    """Result that comes back to the program from the golden unit."""
    lanes = [found.load(operand.view(np.uint8)) for operand in operands]
    kind = dtype_of(found.datatype)
    padded = [np.pad(each, (0, -len(each) % kind.itemsize)).view(kind) for each in lanes]
    result = functools.reduce(lambda a, b: combine(a, b, datatype=found.datatype, operator=found.operator), padded)
    back = np.zeros(count * operands[0].itemsize, np.uint8)
    room = found.room(back)
    room[:] = result.view(np.uint8)[: len(room)]
    found.unload(room, back)
    return back.view(operands[0].dtype)


@pytest.mark.parametrize(("element", "op"), list(itertools.product(TYPES, FUNCTIONS)))
def test_numpys_results(element, op):
    found = carrier(element, op, able=ABLE)
    assert (found is not None) == meant(element, op)
    if found is None:
        return
    rng = np.random.default_rng(int(op) * 100 + int(element))
    kind = np.dtype(TYPES[element])
    data = rng.integers(0, 256, (3, 41 * kind.itemsize), np.uint8).view(kind)
    if kind.kind == "f":
        data = rng.standard_normal((3, 41)).astype(kind)
    if op in TRUTHS:
        data[rng.random(data.shape) < 0.5] = 0
    wanted = FUNCTIONS[op].reduce(data, axis=0, dtype=None if op in TRUTHS else kind).astype(kind)
    got = carried(found, list(data), 41)
    assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("element", [Element.FLOAT_INT, Element.TWO_INT])
@pytest.mark.parametrize("op", [MpiOp.MINLOC, MpiOp.MAXLOC])
def test_places(element, op):
    kind = np.dtype([("value", "<f4" if element is Element.FLOAT_INT else "<i4"), ("index", "<i4")])
    rng = np.random.default_rng(3)
    data = np.zeros((3, 50), kind)
    data["value"] = rng.integers(-3, 3, data.shape) if kind["value"].kind == "i" else rng.normal(0, 1e30, data.shape)
    data["index"] = rng.integers(-1000, 1000, data.shape)
    got = carried(carrier(element, op, able=ABLE), list(data), 50)
    extreme = (np.min if op is MpiOp.MINLOC else np.max)(data["value"], axis=0)
    assert np.array_equal(got["value"], extreme)
    index = [min(row["index"][n] for row in data if row["value"][n] == extreme[n]) for n in range(50)]
    assert list(got["index"]) == index


def test_units_that_can_do_less():
    """A wider type carries a narrower one, never with another order of numbers; doubles alone carry no integers."""
    def able(*names):
        config = ReduceConfig(add_cycles=5, datatypes=names, multiply=False)
        return {(each.datatype, each.operator) for each in operations(config)}

    wide = carrier(Element.INT32, MpiOp.MIN, able=able("int64"))
    assert (wide.datatype, wide.ratio) == (Datatype.INT64, 2)
    assert carrier(Element.INT32, MpiOp.MIN, able=able("uint64")) is None
    assert carrier(Element.INT32, MpiOp.SUM, able=able("uint64")).datatype is Datatype.UINT64
    assert carrier(Element.UINT8, MpiOp.MAX, able=able("int32")).ratio == 4
    assert carrier(Element.INT8, MpiOp.SUM, able=able("float64")) is None
    assert carrier(Element.FLOAT64, MpiOp.PROD, able=able("float64")) is None


def test_scans_of_truth_values_are_left():
    """The first results of a scan are operands, which no operator has made 0 or 1."""
    assert carrier(Element.INT32, MpiOp.LOR, able=ABLE, prefix=True) is None
    assert carrier(Element.INT32, MpiOp.SUM, able=ABLE, prefix=True).operator is Operator.SUM
