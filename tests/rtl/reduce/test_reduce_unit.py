# amaranth: UnusedElaboratable=no
"""The reduce unit and what it says of itself."""

import re

import pytest

from firmware_models.abi.encoding import Datatype, Operator
from rtl.reduce.delay_line import DelayLine
from rtl.reduce.operation import OPERATIONS, supported
from rtl.reduce.reduce_unit import ReduceUnit
from rtl.reduce.request_decode import DATATYPE_BITS, OPERATOR_BITS
from testbench.reduce.parts import reduce_bundle
from testbench.runner import run_bench


def test_reduce_unit():
    result = run_bench(reduce_bundle(), bench="testbench.reduce.reduce_unit_bench")
    print(f"pairs of corners: {result.report}")
    assert len(result.report) == 10
    assert min(result.report.values()) >= 3600


def test_only_listed_operations_are_supported():
    pairs = [(datatype, operator) for datatype in range(1 << DATATYPE_BITS) for operator in range(1 << OPERATOR_BITS)]
    assert [pair for pair in pairs if supported(*pair)] == sorted(OPERATIONS)
    assert supported(Datatype.FLOAT64, Operator.SUM)


def test_encodings_fit():
    assert max(Datatype) < 1 << DATATYPE_BITS
    assert max(Operator) < 1 << OPERATOR_BITS


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"data_width": 65}, "data_width must be 64, 128, 256 or 512, not 65"),
        ({"data_width": 64, "add_cycles": 4}, "add_cycles must be from 5 to 16, not 4"),
        ({"data_width": 64, "tag_width": 0}, "tag_width must be a positive integer, not 0"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        ReduceUnit(**parameters)


def test_delay_is_checked():
    with pytest.raises(ValueError, match=r"^cycles must be an integer of at least 2, not 1$"):
        DelayLine(shape=8, cycles=1)
