"""How fast the NIC core runs, and what a count of cycles is in nanoseconds there."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures" / "core.json"
"""Figures measured by ``python -m fpga.core_figures``."""
MOST_MHZ = 10_000
IN_NANOSECONDS = {
    "trigger_ns": "trigger_cycles", "reduce_hop_ns": "reduce_hop_cycles", "header_hop_ns": "header_hop_cycles",
    "doorbell_to_first_flit_ns": "doorbell_to_first_flit_cycles",
}
"""Keys of a report in nanoseconds, and those in cycles that they come from."""


class SpeedError(ValueError):
    """A frequency that is none, or a file of figures that says none."""


@dataclass(frozen=True, kw_only=True)
class CoreSpeed:
    """A clock, and the preset that was measured with it.

    Parameters
    ----------
    fmax_mhz : float or None
        Megahertz; None: nobody has measured it.
    preset : str or None
        Preset of the NIC that was placed and routed; None if the frequency was given.
    """

    fmax_mhz: float | None = None
    preset: str | None = None

    def nanoseconds(self, cycles: int) -> float | None:
        """Time that so many cycles take, to a tenth; None at an unknown frequency."""
        return None if self.fmax_mhz is None else round(1000 * cycles / self.fmax_mhz, 1)


def frequency(value: Any) -> float:
    """`value` as megahertz.

    Raises
    ------
    SpeedError
        If it is no frequency.
    """
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number <= MOST_MHZ:
        raise SpeedError(f"must be megahertz above 0, {MOST_MHZ:,} at most, not {value!r}")
    return number


def measured_speed(preset: str, path: Path = FIGURES) -> CoreSpeed:
    """The measured speed of `preset`, or else of the first preset that was measured. Without a file nothing is known.

    Raises
    ------
    SpeedError
        If the file says something else than speeds.
    """
    if not path.exists():
        return CoreSpeed()
    try:
        rows = json.loads(path.read_text())
        row = next((row for row in rows if row["preset"] == preset), rows[0])
        return CoreSpeed(fmax_mhz=frequency(row["fmax_mhz"]), preset=str(row["preset"]))
    except (ValueError, LookupError, TypeError) as error:
        reason = f"{type(error).__name__}: {error}" if not isinstance(error, SpeedError) else f"fmax_mhz: {error}"
        raise SpeedError(f"{str(path)!r} is no file of `python -m fpga.core_figures` ({reason})") from error


def with_nanoseconds(report: dict[str, Any], speed: CoreSpeed) -> dict[str, Any]:
    """`report` of ``conic bench latency`` with `fmax_mhz`, `fmax_preset` and the keys of :data:`IN_NANOSECONDS`."""
    times = {name: speed.nanoseconds(report[cycles]) for name, cycles in IN_NANOSECONDS.items()}
    return report | {"fmax_mhz": speed.fmax_mhz, "fmax_preset": speed.preset} | times
