"""Measures the cycles that the pages show on the RTL: ``python -m sim.report.figures docs/figures/cluster.json``.

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

PRESET = "small"


def _star() -> Iterator[dict[str, Any]]:
    """Four nodes at a switch, each collective by its usual algorithm."""
    for collective in ("broadcast", "reduce", "allreduce", "barrier"):
        for size in (0,) if collective == "barrier" else (64, 4096, 65536):
            yield {"collective": collective, "algorithm": default_algorithm(collective), "nodes": 4, "size": size}


def _multicast() -> Iterator[dict[str, Any]]:
    """Sixteen nodes on a fat tree: algorithms with multicast beside those without."""
    algorithms = {
        "broadcast": ("multicast", "binomial", "double-binary-tree"),
        "allreduce": ("reduce-multicast", "recursive-doubling"),
        "barrier": ("multicast", "dissemination"),
    }
    for collective, names in algorithms.items():
        for name in names:
            yield {"collective": collective, "algorithm": name, "nodes": 16, "topology": "fat-tree:4",
                   "size": 0 if collective == "barrier" else 65536}


CASES = {"cluster": _star, "multicast": _multicast}
"""What is measured for the file of that name."""


def measure(figure: str) -> Iterator[dict[str, Any]]:
    """Yields a row per case of one of :data:`CASES`."""
    for case in CASES[figure]():
        result = run_collective(CollectiveRequest(config=load_preset(PRESET), preset=PRESET, **case))
        yield {
            "collective": case["collective"], "algorithm": case["algorithm"], "nodes": case["nodes"],
            "bytes": case["size"], "preset": PRESET, "cycles": result.cycles,
            "goodput_fraction": round(result.goodput_fraction, 4), "mismatched_bits": result.mismatched_bits,
        }


if __name__ == "__main__":
    output = Path(sys.argv[1])
    output.write_text(json.dumps(list(measure(output.stem)), indent=1) + "\n")
