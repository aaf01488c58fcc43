"""Requests to the reduce unit, all that there can be: what the direct lanes and the functions make of each."""

import random
from itertools import product

import pytest

from firmware_models.abi.encoding import Datatype, Operator
from rtl.reduce.direct_lane import Control
from rtl.reduce.operation import OPERATIONS, Operation
from rtl.reduce.request_decode import FUNCTIONS, RequestDecode
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs
from testbench.parts.simulation import fields, run

A, B, COMBINE = 0, 1, 2
NAMES = {Datatype.FLOAT64: "float64", Datatype.FLOAT32: "float32", Datatype.INT64: "int64", Datatype.UINT64: "int64",
         Datatype.INT32: "int32"}
SETS = {
    "all": OPERATIONS,
    "sums of integers": tuple(o for o in OPERATIONS if o.datatype is Datatype.INT64 and o.operator is Operator.SUM),
    "no products": tuple(o for o in OPERATIONS if o.operator is not Operator.PROD),
}


def meaning(bits: int) -> tuple:
    """Function of a direct lane, without the bits that make no difference to it."""
    control = fields(Control, bits)
    halves, index = ("halves",) * control["halves"], ("index",) * control["index"]
    kind = "float" if control["floating"] else "signed" if control["signed"] else "unsigned"
    chosen = [name for name in ("order", "pass_b", "sum") if control[name]]
    masks = [name for name in ("both", "either") if control[name]]
    assert len(chosen) + bool(masks) <= 1
    if control["order"]:
        return ("last" if control["greatest"] else "first", kind, *halves, *index)
    if control["sum"]:
        return ("sum", *halves)
    return ("b",) if control["pass_b"] else (*masks,) if masks else ("a",)


def wanted(select: int, datatype: int, operator: int, operations: tuple[Operation, ...]) -> tuple[str, tuple, tuple]:
    """The function whose result counts, or none; those of the direct lanes with elements and with indices."""
    if select == B:
        return "", ("b",), ("b",)
    if select != COMBINE or (datatype, operator) not in operations:
        return "", ("a",), ("a",)
    of, name = Datatype(datatype), Operator(operator).name
    if name in ("MINLOC", "MAXLOC"):
        # Of equal doubles the lower index counts, an integer of 32 bits, whatever is sought.
        return "", ("first" if name == "MINLOC" else "last", "float"), ("first", "signed", "halves", "index")
    halves = ("halves",) * (of in (Datatype.FLOAT32, Datatype.INT32))
    if name in ("MIN", "MAX"):
        kind = "float" if of.name.startswith("FLOAT") else "unsigned" if of is Datatype.UINT64 else "signed"
        lane = ("first" if name == "MIN" else "last", kind, *halves)
    elif name == "PROD" or (name == "SUM" and of.name.startswith("FLOAT")):
        return f"{NAMES[of]}_{'add' if name == 'SUM' else 'multiply'}", (), ()
    else:
        lane = {"SUM": ("sum", *halves), "AND": ("both",), "OR": ("both", "either"), "XOR": ("either",)}[name]
    return "", lane, lane


@pytest.mark.parametrize("operations", SETS.values(), ids=SETS)
def test_requests(operations: tuple[Operation, ...]) -> None:
    part = RequestDecode(operations=operations)
    asked = list(product(range(4), range(16), range(16)))
    at, used = 0, set()

    def drive(put) -> None:
        for name, value in zip(("select", "datatype", "operator"), asked[at], strict=True):
            put(getattr(part, name), value)

    def settle(read) -> None:
        nonlocal at
        function, even, odd = wanted(*asked[at], operations)
        use = read(part.use)
        assert [name for place, name in enumerate(FUNCTIONS) if use >> place & 1] == [function] * bool(function)
        found = meaning(read(part.even.as_value())), meaning(read(part.odd.as_value()))
        if not function:
            assert found == (even, odd)
        used.update({function, even})
        at += 1

    run(part, [Inputs(drive, settle)], cycles=len(asked), rng=random.Random(0))
    assert at == 1024
    assert len(used) > (20 if operations is OPERATIONS else 3)


FAULTS = {
    "the greatest index": ('"greatest": maximum & ~pair', '"greatest": maximum'),
    "an unsigned minimum": ("self._has(Datatype.INT64, Datatype.INT32)", "self._has(*INTEGERS)"),
    "a sum that a build leaves out": (
        '"sum": known & self._has', '"sum": (self.select == Select.COMBINE) & self._has'),
    "another multiplier": ("known & self._is_one_of(set(wanted)", "self._is_one_of(set(wanted)"),
    "or without both": ("known & self._asks(Operator.AND, Operator.OR)", "known & self._asks(Operator.AND)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "RequestDecode", changed(RequestDecode, *FAULTS[fault]))
    with pytest.raises(AssertionError):
        test_requests(SETS["sums of integers"] if "build" in fault else OPERATIONS)
