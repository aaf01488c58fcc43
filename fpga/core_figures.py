"""How fast the NIC core is by itself on an ECP5 of speed 8: ``python -m fpga.core_figures FILE``.

FILE is ``docs/figures/core.json``. The NIC of preset :data:`PRESET`, with the point-to-point path that boards
leave out, in the harness of :mod:`fpga.harness`. Place and route takes a quarter of an hour.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from firmware_models.config import load_preset
from fpga.place import PATIENT_ROUTER, ROOMY_DEVICE, Part
from fpga.rows import replace_rows
from fpga.unit import measure_unit
from rtl.nic.nic import Nic

PRESET = "ecpix5_85f"
SEEDS = (1,)
"""Placed once. With :data:`ASKED_MHZ` not every seed comes to an end: with some the router lays the same few wires
anew each round until it gives up."""

PART = Part(device="85k", speed=8, package="CABGA381")

ASKED_MHZ = 111.0
"""Frequency that the router is asked for. It stops as soon as it has reached that, and not before."""

_WIRE_DELAY = 450
"""Picoseconds of a wire for the mapper: the most with which the look-up tables are no more than by default."""

_MAX_FANOUT = 32
"""Loads of a driver: the device is half empty, so there are wires for many copies."""

# The clock comes in at a pin of the clock network. Left to itself the placer may choose one without a way there.
_PINS = 'LOCATE COMP "clk" SITE "G2";\n'


def measure() -> dict[str, Any]:
    """Cells of the NIC by itself, and its frequency."""
    board = load_preset(PRESET)
    config = replace(board, nic=replace(board.nic, p2p=True))
    figures = measure_unit(
        lambda: Nic(config), seeds=SEEDS, part=PART, pins=_PINS, arguments=["--freq", f"{ASKED_MHZ}", *ROOMY_DEVICE],
        max_fanout=_MAX_FANOUT, wire_delay=_WIRE_DELAY, settings=PATIENT_ROUTER,
    )
    begin, end, delay = figures.placements[0].critical_path
    return {
        "preset": PRESET, "device": "LFE5U-85F", "speed": PART.speed,
        "seeds": list(SEEDS), "fmax_mhz": figures.fmax_mhz["median"], "cells": figures.cells,
        "critical_path": {"from": begin, "to": end, "delay_ns": delay},
    }


if __name__ == "__main__":
    replace_rows(Path(sys.argv[1]), [measure()], key="preset", order=(PRESET,))
