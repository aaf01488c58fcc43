"""Measures the cost of a reliable link, for its page: ``python -m testbench.link.layer_figures
docs/figures/link.json``."""

import json
import sys
from pathlib import Path
from typing import Any

from testbench.link.go_back_n import HOP_CYCLES, go_back_n_bound
from testbench.link.layer_parts import SIZES_4KIB, WIRE_CYCLES, layer_bundle
from testbench.runner import run_bench

RATES = (1e-5, 1e-4, 1e-3, 3e-3)
"""Shares of the words that are damaged."""
PACKETS = 40
"""Packets of 4 KiB at each rate."""


def measure() -> list[dict[str, Any]]:
    """A row for each width of flits."""
    rows = []
    for name, size in SIZES_4KIB.items():
        report = run_bench(
            layer_bundle(size), bench="testbench.link.cost_bench", seed=1, seconds=4 * 3600,
            parameters={"size": name, "rates": RATES, "packets": PACKETS},
        ).report
        for row in report["faults"]:
            row["bound"] = go_back_n_bound(
                flits=size.longest, rate=row["rate"], trip_cycles=2 * (WIRE_CYCLES + HOP_CYCLES),
            )
        rows.append({"data_width": size.data_width, "packet_flits": size.longest, **report})
    return rows


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(measure(), indent=1) + "\n")
