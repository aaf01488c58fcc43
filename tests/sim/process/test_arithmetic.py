"""A host's arithmetic beside the golden one, with which it shares nothing."""

import itertools

import numpy as np
import pytest

from firmware_models.abi.encoding import Datatype, Operator
from firmware_models.golden import combine, dtype_of, operators_of
from sim.process.arithmetic import combined

SPECIAL = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan, -np.nan, 0.1, 0.3]


def operands(datatype: Datatype) -> tuple[np.ndarray, np.ndarray]:
    kind = dtype_of(datatype)
    pairs = np.array(list(itertools.product(SPECIAL, SPECIAL)))
    if kind.names is not None:
        sides = []
        for side, step in ((0, 3), (1, 5)):
            rows = np.zeros(2 * len(pairs), kind)
            rows["value"] = np.repeat(pairs[:, side], 2)
            rows["index"] = np.arange(len(rows)) * step % 7 - 3
            sides.append(rows)
        return sides[0], sides[1]
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            both = pairs.astype(kind)
        return both[:, 0].copy(), both[:, 1].copy()
    limits = np.iinfo(kind)
    both = np.random.default_rng(1).integers(limits.min, limits.max, (2, 500), kind, endpoint=True)
    return both[0], both[1]


@pytest.mark.parametrize(("datatype", "operator"), [
    (datatype, operator) for datatype in Datatype for operator in operators_of(datatype)
])
def test_same_bits(datatype: Datatype, operator: Operator) -> None:
    left, right = operands(datatype)
    wanted = combine(left, right, datatype=datatype, operator=operator)
    assert combined(left, right, operator.name.lower()).tobytes() == wanted.tobytes()
