"""Measures the cycles that the pages show on the RTL: ``python -m sim.page.figures docs/figures/cluster.json``.

Cycle counts are deterministic: the same sources give the same file.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from firmware_models.config import load_preset
from firmware_models.schedule import default_algorithm
from sim.collective import CollectiveRequest, run_collective


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


def _paper() -> Iterator[dict[str, Any]]:
    """The NIC of the paper: a large message alone, and as many jobs at once as it was tested with."""
    allreduce = {"collective": "allreduce", "algorithm": "recursive-doubling", "nodes": 4, "preset": "paper"}
    for jobs, size in ((1, 65536), (1, 1 << 20), (32, 65536)):
        yield allreduce | {"jobs": jobs, "size": size}


def _pool() -> Iterator[dict[str, Any]]:
    """The packet buffer with and without shared credits: jobs alone and four at once, four nodes and eight."""
    for nodes in (4, 8):
        for collective, algorithm, jobs in (
            ("broadcast", "binomial", 1), ("broadcast", "multicast", 1), ("reduce", "binomial", 1),
            ("allreduce", "recursive-doubling", 1), ("allreduce", "rabenseifner", 1),
            ("allreduce", "recursive-doubling", 4),
        ):
            for lending in (True, False):
                yield {"collective": collective, "algorithm": algorithm, "nodes": nodes, "jobs": jobs, "size": 65536,
                       "lending": lending}


CASES = {"cluster": _star, "multicast": _multicast, "paper": _paper, "pool": _pool}
"""Cases to measure for the file of each name."""


def measure(figure: str) -> Iterator[dict[str, Any]]:
    """Yields a row per case of one of :data:`CASES`."""
    for case in CASES[figure]():
        preset, shown = case.get("preset", "small"), {}
        config = load_preset(preset)
        if "lending" in case:
            shown = {"lending": case.pop("lending")}
            config = replace(config, cou=replace(config.cou, **shown))
        request = CollectiveRequest(**{"config": config, "preset": preset, **case})
        result = run_collective(request)
        yield {
            "collective": request.collective, "algorithm": request.algorithm, "nodes": request.nodes,
            "jobs": request.jobs, "bytes": request.size, "preset": preset, **shown, "cycles": result.cycles,
            "goodput_fraction": round(result.goodput_fraction, 4), "mismatched_bits": result.mismatched_bits,
        }


if __name__ == "__main__":
    output = Path(sys.argv[1])
    output.write_text(json.dumps(list(measure(output.stem)), indent=1) + "\n")
