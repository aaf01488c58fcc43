"""What the reduce unit can compute. No hardware in here: the scheduler and software ask it too."""

from typing import NamedTuple

from firmware_models.abi.encoding import Datatype, Operator


class Operation(NamedTuple):
    """One thing that the reduce unit can do with two operands."""

    datatype: Datatype
    operator: Operator


FLOAT64_SUM = Operation(Datatype.FLOAT64, Operator.SUM)
"""Sum of doubles, as IEEE 754 says, to nearest even."""

OPERATIONS: tuple[Operation, ...] = (FLOAT64_SUM,)
"""All operations that the unit has a function for. Descriptors that ask for others are refused by the scheduler."""


def supported(datatype: int, operator: int) -> bool:
    """Whether the reduce unit can combine elements of `datatype` with `operator`.

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
    return (datatype, operator) in OPERATIONS
