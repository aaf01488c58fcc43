"""How fast the NIC core is by itself on an ECP5 of speed 8: ``python -m fpga.core_figures FILE [KIND ...]``.

FILE is ``docs/figures/core.json``. The NIC of preset :data:`PRESET` in the harness of :mod:`fpga.harness`, with
registers in the parts that each kind names. Place and route of one takes a quarter of an hour.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from firmware_models.config import PIPELINED_PARTS, Config, load_preset
from fpga.harness import Harness
from fpga.place import LARGE_DESIGN, Part, place
from fpga.synthesis import synthesise
from fpga.unit import export
from rtl.nic.nic import Nic

PRESET = "ecpix5_85f"
SEED = 1
PART = Part(device="85k", speed=8, package="CABGA381")
KINDS = {"none": (), "blocks": tuple(part for part in PIPELINED_PARTS if part != "packets"), "all": PIPELINED_PARTS}
"""Which parts are pipelined (``datapath.pipelined``)."""

# The clock comes in at a pin of the clock network. Left to itself the placer may choose one without a way there.
_PINS = 'LOCATE COMP "clk" SITE "G2";\n'


def core_config(kind: str) -> Config:
    """The preset, pipelined as `kind` says."""
    config = load_preset(PRESET)
    return replace(config, datapath=replace(config.datapath, pipelined=KINDS[kind]))


def measure(kind: str) -> dict[str, Any]:
    """Cells and frequency of one kind."""
    build = Path("build", "fpga")
    build.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=build) as folder:
        netlist, pins = Path(folder, "core.json"), Path(folder, "core.lpf")
        pins.write_text(_PINS)
        cells = synthesise(export(Harness(Nic(core_config(kind)))), top="unit", keep=netlist)
        placed = place(netlist, part=PART, seed=SEED, arguments=[
            "--lpf", pins.name, "--lpf-allow-unconstrained", "--freq", "100", *LARGE_DESIGN,
        ])
    begin, end, delay = placed.critical_path
    return {
        "kind": kind, "pipelined": list(KINDS[kind]), "preset": PRESET, "device": "LFE5U-85F", "speed": PART.speed,
        "seed": SEED, "fmax_mhz": round(placed.fmax_mhz, 2), "cells": cells, "device_cells": placed.cells,
        "critical_path": {"from": begin, "to": end, "delay_ns": delay},
    }


def main(file: Path, kinds: list[str]) -> None:
    """Measures the kinds, all without a name, and puts their rows into the file."""
    known = {row["kind"]: row for row in json.loads(file.read_text())} if file.exists() else {}
    for kind in kinds or KINDS:
        known[kind] = measure(kind)
        file.write_text(json.dumps([known[name] for name in KINDS if name in known], indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
