"""Decodes a request into control signals for the parts of the reduce unit."""

from collections.abc import Collection
from enum import IntEnum

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.encoding import Datatype, Operator
from rtl.reduce.direct_lane import Control
from rtl.reduce.operation import FLOATS, HALVES, INTEGERS, Operation

DATATYPE_BITS = 4
OPERATOR_BITS = 4
SELECT_BITS = 2


class Select(IntEnum):
    """Use that a request makes of its two operands."""

    A = 0
    """The result is `a`, bit for bit."""
    B = 1
    """The result is `b`, bit for bit."""
    COMBINE = 2
    """The result is `a` combined with `b`, element by element."""


FUNCTIONS: dict[str, tuple[Operation, ...]] = {
    "float64_add": (Operation(Datatype.FLOAT64, Operator.SUM),),
    "float32_add": (Operation(Datatype.FLOAT32, Operator.SUM),),
    "float64_multiply": (Operation(Datatype.FLOAT64, Operator.PROD),),
    "float32_multiply": (Operation(Datatype.FLOAT32, Operator.PROD),),
    "int64_multiply": (Operation(Datatype.INT64, Operator.PROD), Operation(Datatype.UINT64, Operator.PROD)),
    "int32_multiply": (Operation(Datatype.INT32, Operator.PROD),),
}
"""Functions as deep as the adder, and what each is for. All other operations are those of a direct lane."""

_MINIMA = (Operator.MIN, Operator.MINLOC)
_MAXIMA = (Operator.MAX, Operator.MAXLOC)


class RequestDecode(wiring.Component):
    """Tells functions and direct lanes what to do. No latency, no state.

    Parameters
    ----------
    operations : collection of Operation
        What the unit can combine with. Anything else is passed on like `a`.

    Members
    -------
    select, datatype, operator : In
        Fields of the request.
    use : ``Out(len(FUNCTIONS))``
        The function whose result counts; none if the direct lanes have it.
    even, odd : ``Out(Control)``
        What direct lanes do that hold elements, or the doubles of DOUBLE_INTs; and those that hold their indices.
    """

    select: In(SELECT_BITS)
    datatype: In(DATATYPE_BITS)
    operator: In(OPERATOR_BITS)
    use: Out(len(FUNCTIONS))
    even: Out(Control)
    odd: Out(Control)

    def __init__(self, *, operations: Collection[Operation]):
        self.operations = tuple(operations)
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        known = Signal()
        m.d.comb += known.eq((self.select == Select.COMBINE) & self._is_one_of(self.operations))

        # A double that goes with an index compares like any other; the index is an integer of 32 bits.
        pair = self._has(Datatype.DOUBLE_INT)
        minimum = self._asks(*_MINIMA)
        maximum = self._asks(*_MAXIMA)
        element = {
            "halves": self._has(*HALVES),
            "floating": self._has(*FLOATS, Datatype.DOUBLE_INT),
            "signed": self._has(Datatype.INT64, Datatype.INT32),
            "index": Const(0, 1),
            "order": known & (minimum | maximum),
            "greatest": maximum,
            "pass_b": self.select == Select.B,
            "sum": known & self._has(*INTEGERS) & self._asks(Operator.SUM),
            "both": known & self._asks(Operator.AND, Operator.OR),
            "either": known & self._asks(Operator.OR, Operator.XOR),
        }
        index = element | {
            "halves": element["halves"] | pair, "floating": element["floating"] & ~pair,
            "signed": element["signed"] | pair, "index": known & pair, "greatest": maximum & ~pair,
        }
        m.d.comb += [
            self.use.eq(Cat(
                known & self._is_one_of(set(wanted) & set(self.operations)) for wanted in FUNCTIONS.values()
            )),
            *(self.even[name].eq(value) for name, value in element.items()),
            *(self.odd[name].eq(value) for name, value in index.items()),
        ]
        return m

    def _has(self, *datatypes):
        return Cat(self.datatype == datatype for datatype in datatypes).any()

    def _asks(self, *operators):
        return Cat(self.operator == operator for operator in operators).any()

    def _is_one_of(self, operations):
        return Cat((self.datatype == datatype) & (self.operator == operator)
                   for datatype, operator in sorted(operations)).any()
