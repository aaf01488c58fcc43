"""Operations that a reduce unit can compute. No hardware in here: the scheduler and software ask it too."""

from collections.abc import Collection
from typing import NamedTuple

from firmware_models.abi.encoding import Datatype, Operator
from firmware_models.config import ReduceConfig


class Operation(NamedTuple):
    """One thing that a reduce unit can do with two operands."""

    datatype: Datatype
    operator: Operator


FLOATS = (Datatype.FLOAT64, Datatype.FLOAT32)
"""Types whose sums and products are rounded."""

INTEGERS = (Datatype.INT64, Datatype.UINT64, Datatype.INT32)
"""Types that wrap around."""

HALVES = (Datatype.FLOAT32, Datatype.INT32)
"""Types of which a lane holds two elements."""

_number = (Operator.SUM, Operator.MIN, Operator.MAX, Operator.PROD)
_bitwise = (Operator.AND, Operator.OR, Operator.XOR)
_operators: dict[Datatype, tuple[Operator, ...]] = {
    **dict.fromkeys(FLOATS, _number),
    **dict.fromkeys(INTEGERS, _number + _bitwise),
    Datatype.DOUBLE_INT: (Operator.MINLOC, Operator.MAXLOC),
}

OPERATIONS: tuple[Operation, ...] = tuple(
    Operation(datatype, operator) for datatype in sorted(_operators) for operator in _operators[datatype]
)
"""All operations that there is hardware for. A build may leave some out."""


def operations(config: ReduceConfig) -> tuple[Operation, ...]:
    """The operations of a build. Descriptors that ask for others are refused by the scheduler.

    Examples
    --------
    >>> from firmware_models.config import load_preset
    >>> few = operations(load_preset("ulx3s_85f").reduce)
    >>> [operation.operator.name for operation in few]
    ['SUM', 'MIN', 'MAX']
    """
    datatypes = {Datatype[name.upper()] for name in config.datatypes}
    return tuple(
        operation for operation in OPERATIONS
        if operation.datatype in datatypes and (config.multiply or operation.operator is not Operator.PROD)
    )


def supported(datatype: int, operator: int, *, among: Collection[Operation] = OPERATIONS) -> bool:
    """True if a reduce unit with the operations `among` can combine elements of `datatype` with `operator`.

    Any integers may be asked for, meaningless ones too.

    Examples
    --------
    >>> supported(Datatype.FLOAT64, Operator.SUM)
    True
    >>> supported(Datatype.FLOAT64, Operator.XOR)
    False
    >>> supported(15, 15)
    False
    """
    return (datatype, operator) in among
