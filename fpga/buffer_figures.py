"""Area and speed of the packet buffer's control part: ``python -m fpga.buffer_figures docs/figures/buffer.json``.

Tag tables with the memories of their tags, and the free list; the RAM of headers and payloads is left aside. The tables
take nextpnr's routers more than ten minutes a seed, so the frequency is its estimate after placement.
"""

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from amaranth.lib import wiring

from firmware_models.config import load_preset
from fpga.harness import Harness
from fpga.place import Part, estimate
from fpga.synthesis import synthesise
from fpga.unit import UnitFigures, export
from rtl.buffer.cuckoo_table import CuckooTable
from rtl.buffer.linear_table import LinearTable
from rtl.buffer.packet_slots import SlotPool

SEEDS = (1, 2, 3)
"""Seeds of the placer."""


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
    make = units()[name]
    cells = UnitFigures(cells=synthesise(export(make()), top="unit"), placements=())
    build = Path("build", "fpga")
    build.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=build) as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        netlist = Path(folder, "harness.json")
        synthesise(export(Harness(make())), top="unit", keep=netlist)
        rates = list(pool.map(lambda seed: estimate(netlist, part=Part(), seed=seed), SEEDS))
    return {
        "unit": name, "device": "LFE5U-85F", "speed": 8, "package": "CABGA756", "seeds": list(SEEDS),
        "fmax_mhz": {"best": round(max(rates), 1), "median": round(median(rates), 1)}, "routed": False,
        "lut4": cells.lut4, "lut4eq": cells.lut4eq, "ff": cells.ff, "block_ram": cells.ram, "dsp": cells.dsp,
    }


if __name__ == "__main__":
    rows = []
    for unit in units():
        rows.append(measure(unit))
        print(json.dumps(rows[-1]), file=sys.stderr)
        Path(sys.argv[1]).write_text(json.dumps(rows, indent=1) + "\n")
