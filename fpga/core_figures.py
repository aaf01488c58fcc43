"""How fast the NIC core is by itself on an ECP5 of speed 8: ``python -m fpga.core_figures FILE [KIND ...]``.

FILE is ``docs/figures/core.json``. The NIC of preset :data:`PRESET` in the harness of :mod:`fpga.harness`, with
registers in the parts that each kind names. Place and route of one takes a quarter of an hour.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from firmware_models.config import PIPELINED_PARTS, load_preset
from fpga.place import ROOMY_DEVICE, Part
from fpga.rows import replace_rows
from fpga.unit import measure_unit
from rtl.nic.nic import Nic

PRESET = "ecpix5_85f"
SEEDS = (1,)
PART = Part(device="85k", speed=8, package="CABGA381")
KINDS = {"none": (), "unit": ("cou",), "all": PIPELINED_PARTS}
"""Which parts of the offload unit are pipelined (``datapath.pipelined``)."""

_MAX_FANOUT = 48
"""Loads of a driver: the device is half empty, so there are wires for many copies."""

# The clock comes in at a pin of the clock network. Left to itself the placer may choose one without a way there.
_PINS = 'LOCATE COMP "clk" SITE "G2";\n'


def measure(kind: str) -> dict[str, Any]:
    """Cells of one kind by themselves, and its frequency."""
    preset = load_preset(PRESET)
    config = replace(preset, datapath=replace(preset.datapath, pipelined=KINDS[kind]))
    figures = measure_unit(
        lambda: Nic(config), seeds=SEEDS, part=PART, pins=_PINS, arguments=["--freq", "100", *ROOMY_DEVICE],
        max_fanout=_MAX_FANOUT,
    )
    begin, end, delay = figures.placements[0].critical_path
    return {
        "kind": kind, "pipelined": list(KINDS[kind]), "preset": PRESET, "device": "LFE5U-85F", "speed": PART.speed,
        "seeds": list(SEEDS), "fmax_mhz": figures.fmax_mhz["median"], "cells": figures.cells,
        "critical_path": {"from": begin, "to": end, "delay_ns": delay},
    }


def main(file: Path, kinds: list[str]) -> None:
    """Measures the kinds, all without a name, and puts their rows into the file."""
    replace_rows(file, map(measure, kinds or KINDS), key="kind", order=KINDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
