"""``python -m sim.fuzz COUNT [SEED [SEEDS]]``: ends at the first finding.

So many descriptors and packets, half of each, for each of SEEDS seeds (default 1) from SEED (default 0) on, which are
carried out side by side.
"""

import sys

from firmware_models.config import load_preset
from sim.cluster import build_library
from sim.fuzz.runs import fuzz

_BATCH = 192


def main(count: int, seed: int, n_seeds: int) -> None:
    """Fuzzes the NIC of preset `small`."""
    config = load_preset("small")
    for run in fuzz(build_library(config), config, range(seed, seed + n_seeds), count=count, batch=_BATCH):
        print(f"seed {run.seed}: {run.descriptors} descriptors, {run.packets} packets, {run.cycles} cycles")


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    main(*arguments, *(0, 1)[len(arguments) - 1:])
