"""``python -m sim.fuzz COUNT [SEED]``: so many descriptors and packets, half of each; ends at the first finding."""

import sys

from firmware_models.config import load_preset
from sim.cluster import build_library
from sim.fuzz.nic import HOSTILE, NicFuzzer

_BATCH = 192


def main(count: int, seed: int) -> None:
    """Fuzzes the NIC of preset `small`."""
    config = load_preset("small")
    with NicFuzzer(build_library(config), config, seed=seed) as fuzzer:
        while fuzzer.descriptors + fuzzer.packets < count:
            fuzzer.post(_BATCH)
            fuzzer.send(_BATCH * len(HOSTILE))
            fuzzer.renew()
        print(f"seed {seed}: {fuzzer.descriptors} descriptors, {fuzzer.packets} packets, {fuzzer.cluster.cycle} cycles")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
