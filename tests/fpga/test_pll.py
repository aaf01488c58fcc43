"""Divisors of the PLL: exact, and within the ranges of the data sheet."""

import pytest

from fpga.board import BOARDS, Board
from fpga.pll import PFD_MHZ, VCO_MHZ, PllError, plan_pll


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.name)
def test_boards(board: Board) -> None:
    pll = plan_pll(input_mhz=board.clock_hz / 1e6, output_mhz=board.design_hz / 1e6)
    assert pll.input_mhz / pll.reference_divisor * pll.feedback_divisor == pytest.approx(pll.output_mhz)
    assert VCO_MHZ[0] <= pll.vco_mhz <= VCO_MHZ[1]
    assert PFD_MHZ[0] <= pll.input_mhz / pll.reference_divisor <= PFD_MHZ[1]
    assert board.baud * board.divisor == pytest.approx(board.design_hz, rel=0.01)


def test_no_divisors() -> None:
    with pytest.raises(PllError, match=r"^no divisors of the PLL give 33.3 MHz from 25 MHz$"):
        plan_pll(input_mhz=25, output_mhz=33.3)
