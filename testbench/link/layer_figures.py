"""What a reliable link costs, for its page: ``python -m testbench.link.layer_figures docs/figures/link.json``."""

import json
import sys
from pathlib import Path
from typing import Any

from rtl.link.frame_sender import RUN_WORDS
from testbench.link.layer_parts import SIZES_4KIB, WIRE_CYCLES, LayerSize, layer_bundle
from testbench.runner import run_bench

RATES = (1e-5, 1e-4, 1e-3, 3e-3)
"""Shares of the words that are damaged."""
PACKETS = 40
"""Packets of 4 KiB at each rate."""
HOP_CYCLES = 6
"""Cycles of the layer, each way."""


def go_back_n_bound(size: LayerSize, rate: float) -> float:
    """Flits a cycle of a link that sends again everything from a damaged packet on, and hears of it at once.

    A packet comes whole with probability p; one that does not costs itself and what is sent until its sender hears of
    that, a round trip of t packets: p / (p + (1 - p)(1 + t)) of what is sent is of use.
    """
    words = size.longest + -(-size.longest // RUN_WORDS)
    whole = (1 - rate) ** words
    trip = 2 * (WIRE_CYCLES + HOP_CYCLES) / words
    return size.longest / words * whole / (whole + (1 - whole) * (1 + trip))


def measure() -> list[dict[str, Any]]:
    """A row for each width of flits."""
    rows = []
    for name, size in SIZES_4KIB.items():
        report = run_bench(
            layer_bundle(size), bench="testbench.link.cost_bench", seed=1,
            parameters={"size": name, "rates": RATES, "packets": PACKETS},
        ).report
        for row in report["faults"]:
            row["bound"] = go_back_n_bound(size, row["rate"])
        rows.append({"data_width": size.data_width, "packet_flits": size.longest, **report})
    return rows


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(measure(), indent=1) + "\n")
