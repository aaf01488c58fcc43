"""Area and speed of the packet buffer's control part: ``python -m fpga.buffer_figures docs/figures/buffer.json``.

Tag tables with the memories of their tags, and the free list; the RAM of headers and payloads is left aside.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from firmware_models.config import load_preset
from fpga.unit import measure_unit
from rtl.cou.cuckoo_table import CuckooTable
from rtl.cou.linear_table import LinearTable
from rtl.cou.packet_slots import SlotPool

SEEDS = (1,)
"""Seeds of the placer: one, for a table takes many minutes to be routed."""


def units() -> dict[str, Callable[[], wiring.Component]]:
    """The units of preset `small`, by name."""
    n_slots = load_preset("small").buffer_slots
    slot_bits = (n_slots - 1).bit_length()
    return {
        f"CuckooTable, {n_slots} entries": lambda: CuckooTable(n_entries=n_slots, slot_bits=slot_bits),
        f"LinearTable, {n_slots} entries": lambda: LinearTable(n_entries=n_slots, slot_bits=slot_bits),
        f"SlotPool, {n_slots} slots": lambda: SlotPool(n_slots=n_slots),
    }


def measure(name: str) -> dict[str, Any]:
    """A row of the table."""
    figures = measure_unit(units()[name], seeds=SEEDS)
    return {
        "unit": name, "device": "LFE5U-85F", "speed": 8, "package": "CABGA756", "seeds": list(SEEDS),
        "fmax_mhz": figures.fmax_mhz, "lut4": figures.lut4, "lut4eq": figures.lut4eq, "ff": figures.ff,
        "block_ram": figures.ram, "dsp": figures.dsp,
    }


if __name__ == "__main__":
    rows = []
    for unit in units():
        rows.append(measure(unit))
        print(json.dumps(rows[-1]), file=sys.stderr)
        Path(sys.argv[1]).write_text(json.dumps(rows, indent=1) + "\n")
