"""Area and speed of the floating-point adder at every depth, as `conic fp --bench` reports them.

By itself: ``python -m fpga.reduce_figures docs/figures/reduce.json``.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fpga.synthesis import synthesise
from fpga.unit import SEEDS, UnitFigures, export, measure_unit
from rtl.reduce.float_add import CUTS, DEFAULT_CYCLES, FloatAdd

Progress = Callable[[str, int, int], None]


def measure_adder(
    *, depths: Sequence[int] = tuple(CUTS), seeds: Sequence[int] = SEEDS,
    progress: Progress = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Measures the binary64 adder on an ECP5-85k of speed 8, in the harness of :mod:`fpga.harness`.

    Parameters
    ----------
    depths : sequence of int
        Depths in cycles; the default depth is measured in any case.
    seeds : sequence of int
        Seeds of the placer.
    progress : callable
        Called with the stage, the placements done, and their number.

    Returns
    -------
    dict
        Of the default depth `stages`, `fmax_mhz`, `lut4`, `lut4eq`, `ff`, `dsp`, `xilinx`; and `depths`, a row for
        each.
    """
    chosen = sorted({*depths, DEFAULT_CYCLES})
    total, done = len(chosen) * len(seeds), 0

    def advance() -> None:
        nonlocal done
        done += 1
        progress("placing", done, total)

    figures = {
        cycles: measure_unit(lambda cycles=cycles: FloatAdd(cycles=cycles), seeds=seeds, advance=advance)  # type: ignore[misc]
        for cycles in chosen
    }
    cells = synthesise(export(FloatAdd(cycles=DEFAULT_CYCLES)), top="unit", family="xilinx")
    default = _row(DEFAULT_CYCLES, figures[DEFAULT_CYCLES])
    return {
        "unit": "FloatAdd, binary64", "device": "LFE5U-85F", "speed": 8, "package": "CABGA756", "seeds": list(seeds),
        "stages": DEFAULT_CYCLES, **{key: default[key] for key in ("fmax_mhz", "lut4", "lut4eq", "ff", "dsp")},
        "xilinx": {
            "lut": sum(count for name, count in cells.items() if name in {f"LUT{n}" for n in range(1, 7)}),
            "ff": sum(count for name, count in cells.items() if name.startswith("FD")),
            "dsp": sum(count for name, count in cells.items() if name.startswith("DSP")),
        },
        "depths": [_row(cycles, figures[cycles]) for cycles in chosen],
    }


def _row(cycles: int, figures: UnitFigures) -> dict[str, Any]:
    rates = figures.fmax_mhz
    return {
        "cycles": cycles, "fmax_mhz": rates, "latency_ns": round(1000 * cycles / rates["median"], 1),
        "lut4": figures.lut4, "lut4eq": figures.lut4eq, "ff": figures.ff, "dsp": figures.dsp,
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(measure_adder(), indent=1) + "\n")
