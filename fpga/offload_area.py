"""Area of the offload unit on an UltraScale+ device: table 2 of the NIC paper.

By itself: ``python -m fpga.offload_area paper docs/figures/offload_area.json``; as a study: ``conic study area``.
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from firmware_models.config import load_preset
from fpga.blocks import by_instance
from fpga.synthesis import synthesise
from fpga.unit import export
from rtl.cou.offload_unit import OffloadUnit

CATEGORIES = ("lut_logic", "lut_memory", "registers", "block_ram", "ultra_ram", "dsp")
"""Columns of the table. `block_ram` counts tiles of 36 Kbit."""

_weights: tuple[tuple[str, str, float], ...] = (
    (r"LUT[1-6]", "lut_logic", 1), (r"INV", "lut_logic", 1),
    # Distributed RAM by the look-up tables that it takes (user guide UG574, table of primitives).
    (r"RAM32M16|RAM64M8", "lut_memory", 8), (r"RAM32M|RAM64M", "lut_memory", 4), (r"RAM(32|64)X1D", "lut_memory", 2),
    (r"RAM(32|64)X1S", "lut_memory", 1), (r"RAM128X1D", "lut_memory", 4), (r"RAM128X1S", "lut_memory", 2),
    (r"RAM256X1D", "lut_memory", 8), (r"RAM256X1S", "lut_memory", 4), (r"RAM512X1S", "lut_memory", 8),
    (r"SRL16E|SRLC16E|SRLC32E", "lut_memory", 1),
    (r"FD[RSCP]E(_1)?", "registers", 1),
    (r"RAMB36E2", "block_ram", 1), (r"RAMB18E2", "block_ram", 0.5), (r"URAM288(_BASE)?", "ultra_ram", 1),
    (r"DSP48E2", "dsp", 1),
)


def weigh(kind: str) -> tuple[str, float] | None:
    """Category of a cell and how much of it the cell takes; none for what is not counted."""
    return next(((category, weight) for pattern, category, weight in _weights if re.fullmatch(pattern, kind)), None)


def tally(counts: Mapping[str, int]) -> dict[str, float]:
    """Every category, from cells by type."""
    totals: dict[str, float] = dict.fromkeys(CATEGORIES, 0.0)
    for kind, count in counts.items():
        weighed = weigh(kind)
        if weighed is not None:
            totals[weighed[0]] += count * weighed[1]
    return totals


def measure(preset: str) -> dict[str, Any]:
    """Synthesises the offload unit of a preset for UltraScale+ and counts.

    Returns
    -------
    dict
        `unit`, `preset`, `family`, `total` by category, and `blocks`: of each block the counts and their `share`
        of the total.
    """
    with TemporaryDirectory() as folder:
        netlist = Path(folder, "cou.json")
        # In Verilog every word of a memory has a line of its own that clears it, and this unit has very many words.
        text = export(OffloadUnit(load_preset(preset)), language="rtlil")
        cells = synthesise(text, top="unit", family="xilinx", keep=netlist, language="rtlil")
        blocks = {block: tally(counts) for block, counts in by_instance(netlist, top="unit").items()}
    total = tally(cells)
    return {
        "unit": "OffloadUnit", "preset": preset, "family": "UltraScale+ (synth_xilinx -family xcup)",
        "total": total,
        "blocks": [
            {
                "block": block, **counts,
                "share": {name: round(counts[name] / total[name], 4) if total[name] else 0.0 for name in CATEGORIES},
            }
            for block, counts in sorted(blocks.items(), key=lambda item: (-item[1]["lut_logic"], item[0]))
            if any(counts.values())
        ],
    }


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(measure(sys.argv[1]), indent=1) + "\n")
