"""Clocks of a Lattice ECP5 from an oscillator: the divisors of its PLL."""

from dataclasses import dataclass
from typing import Any

from amaranth import ClockSignal, Const, Instance, Value

VCO_MHZ = (400.0, 800.0)
"""Range of the PLL's oscillator (data sheet FPGA-DS-02012, sysCLOCK PLL timing)."""
PFD_MHZ = (10.0, 400.0)
"""Range of the phase detector's input."""
_divisors = range(1, 129)


class PllError(ValueError):
    """No divisors give that frequency."""


@dataclass(frozen=True, kw_only=True)
class Pll:
    """Divisors of an EHXPLLL that is fed back from its primary output.

    Parameters
    ----------
    input_mhz, output_mhz : float
        Frequencies.
    reference_divisor, feedback_divisor, output_divisor : int
        CLKI_DIV, CLKFB_DIV, CLKOP_DIV: the output is input / reference x feedback, the oscillator that times output.
    """

    input_mhz: float
    output_mhz: float
    reference_divisor: int
    feedback_divisor: int
    output_divisor: int

    @property
    def vco_mhz(self) -> float:
        """Frequency of the PLL's oscillator."""
        return self.output_mhz * self.output_divisor

    def instance(self, *, clock_in: Value, clock_out: ClockSignal, locked: Value) -> Instance:
        """The primitive."""
        attributes: dict[str, Any] = {
            "a_FREQUENCY_PIN_CLKI": f"{self.input_mhz:g}", "a_FREQUENCY_PIN_CLKOP": f"{self.output_mhz:g}",
            "a_ICP_CURRENT": "12", "a_LPF_RESISTOR": "8", "a_MFG_ENABLE_FILTEROPAMP": "1", "a_MFG_GMCREF_SEL": "2",
        }
        return Instance(
            "EHXPLLL", **attributes,
            p_PLLRST_ENA="DISABLED", p_INTFB_WAKE="DISABLED", p_STDBY_ENABLE="DISABLED", p_DPHASE_SOURCE="DISABLED",
            p_OUTDIVIDER_MUXA="DIVA", p_OUTDIVIDER_MUXB="DIVB", p_OUTDIVIDER_MUXC="DIVC", p_OUTDIVIDER_MUXD="DIVD",
            p_CLKI_DIV=self.reference_divisor, p_CLKFB_DIV=self.feedback_divisor, p_CLKOP_DIV=self.output_divisor,
            p_CLKOP_ENABLE="ENABLED", p_CLKOP_CPHASE=self.output_divisor // 2, p_CLKOP_FPHASE=0,
            p_FEEDBK_PATH="CLKOP",
            i_CLKI=clock_in, i_CLKFB=clock_out, i_RST=Const(0), i_STDBY=Const(0), i_PHASESEL0=Const(0),
            i_PHASESEL1=Const(0), i_PHASEDIR=Const(1), i_PHASESTEP=Const(1), i_PHASELOADREG=Const(1),
            i_PLLWAKESYNC=Const(0), i_ENCLKOP=Const(0), o_CLKOP=clock_out, o_LOCK=locked,
        )


def plan_pll(*, input_mhz: float, output_mhz: float) -> Pll:
    """Divisors that give exactly `output_mhz`, with the oscillator as near to the middle of its range as can be.

    Raises
    ------
    PllError
        If there are none.
    """
    middle = sum(VCO_MHZ) / 2
    found = [
        Pll(input_mhz=input_mhz, output_mhz=output_mhz, reference_divisor=reference, feedback_divisor=feedback,
            output_divisor=output)
        for reference in _divisors if PFD_MHZ[0] <= input_mhz / reference <= PFD_MHZ[1]
        for feedback in _divisors if abs(input_mhz / reference * feedback - output_mhz) < 1e-9
        for output in _divisors if VCO_MHZ[0] <= output_mhz * output <= VCO_MHZ[1]
    ]
    if not found:
        raise PllError(f"no divisors of the PLL give {output_mhz:g} MHz from {input_mhz:g} MHz")
    return min(found, key=lambda pll: (abs(pll.vco_mhz - middle), pll.reference_divisor))
