"""Clocks of an AMD (Xilinx) FPGA from an oscillator: the divisors of its MMCM."""

from dataclasses import dataclass

from amaranth import ClockSignal, Const, Instance, Signal, Value

VCO_MHZ = (600.0, 1200.0)
"""Range of the MMCM's oscillator that all families and speed grades have."""
_multipliers, _dividers = range(2, 65), range(1, 129)

PRIMITIVES = {"series7": "MMCME2_BASE", "ultrascale": "MMCME3_BASE"}
"""Name of the primitive by family."""


class MmcmError(ValueError):
    """No divisors give that frequency."""


@dataclass(frozen=True, kw_only=True)
class Mmcm:
    """Divisors of an MMCM: the oscillator is input x multiplier, the output that over divider.

    Parameters
    ----------
    family : str
        A key of :data:`PRIMITIVES`.
    input_mhz : float
        Frequency of the input.
    multiplier, divider : int
        CLKFBOUT_MULT_F, CLKOUT0_DIVIDE_F.
    """

    family: str
    input_mhz: float
    multiplier: int
    divider: int

    @property
    def vco_mhz(self) -> float:
        """Frequency of the oscillator."""
        return self.input_mhz * self.multiplier

    def instances(self, *, clock_in: Value, clock_out: ClockSignal, locked: Value) -> dict[str, Instance]:
        """The primitives by name: MMCM and clock buffer."""
        feedback, clock = Signal(name="mmcm_feedback"), Signal(name="mmcm_clock")
        return {
            "mmcm": Instance(
                PRIMITIVES[self.family], p_CLKIN1_PERIOD=1000 / self.input_mhz,
                p_CLKFBOUT_MULT_F=float(self.multiplier),
                p_CLKOUT0_DIVIDE_F=float(self.divider), p_DIVCLK_DIVIDE=1, i_CLKIN1=clock_in, i_CLKFBIN=feedback,
                o_CLKFBOUT=feedback, o_CLKOUT0=clock, o_LOCKED=locked, i_RST=Const(0), i_PWRDWN=Const(0),
            ),
            "buffer": Instance("BUFG", i_I=clock, o_O=clock_out),
        }


def plan_mmcm(*, family: str, input_mhz: float, output_mhz: float) -> Mmcm:
    """Divisors that give exactly `output_mhz`, the oscillator as fast as its range allows: that has the least jitter.

    Raises
    ------
    MmcmError
        If there are none, or no such family.
    """
    if family not in PRIMITIVES:
        raise MmcmError(f"family must be one of {', '.join(PRIMITIVES)}, not {family!r}")
    found = [
        Mmcm(family=family, input_mhz=input_mhz, multiplier=multiplier, divider=divider)
        for multiplier in _multipliers if VCO_MHZ[0] <= input_mhz * multiplier <= VCO_MHZ[1]
        for divider in _dividers if abs(input_mhz * multiplier / divider - output_mhz) < 1e-9
    ]
    if not found:
        raise MmcmError(f"no divisors of the MMCM give {output_mhz:g} MHz from {input_mhz:g} MHz")
    return max(found, key=lambda mmcm: mmcm.vco_mhz)
