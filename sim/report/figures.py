"""Measures the figures of the README on the RTL: ``python -m sim.report.figures docs/figures/cluster.json``.

Cycle counts are deterministic: the same sources give the same file.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firmware_models.config import load_preset
from firmware_models.schedule import default_algorithm
from sim.collective import CollectiveRequest, run_collective

NODES = 4
PRESET = "small"
SIZES = {"broadcast": (64, 4096, 65536), "reduce": (64, 4096, 65536), "allreduce": (64, 4096, 65536), "barrier": (0,)}


def measure() -> Iterator[dict[str, Any]]:
    """Yields a row per collective and size."""
    for collective, sizes in SIZES.items():
        for size in sizes:
            request = CollectiveRequest(
                collective=collective, algorithm=default_algorithm(collective), nodes=NODES, size=size,
                config=load_preset(PRESET), preset=PRESET,
            )
            result = run_collective(request)
            yield {
                "collective": collective, "algorithm": request.algorithm, "nodes": NODES, "bytes": size,
                "preset": PRESET, "cycles": result.cycles, "goodput_fraction": round(result.goodput_fraction, 4),
                "mismatched_bits": result.mismatched_bits,
            }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(list(measure()), indent=1) + "\n")
