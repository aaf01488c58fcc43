"""Compiles the loops before anything is measured."""

import numpy as np

from firmware_models.routing.algorithm.merge import OldTrees, Partner
from firmware_models.routing.algorithm.router import Options, Router
from firmware_models.routing.network import Network


def warm_up() -> None:
    """Routes a ring of four switches in every way, so that all compiled loops are there: seconds the first time, and a
    fraction of one when they are read from where the first time has put them."""
    ring = Network.wire(name="ring", radixes=[4] * 4, cables=[(s, 3, (s + 1) % 4, 4) for s in range(4)],
                        leaf=np.arange(8) // 2, leaf_port=np.arange(8) % 2 + 1)
    kinds = [Options(algorithm=name) for name in ("minihop", "sssp", "opensm-sssp")]
    kinds += [Options(policy=policy, mft_size=2, partner=partner, old=old) for policy in ("paper", "best")
              for partner in Partner for old in OldTrees]
    for options in kinds:
        router = Router(ring, options)
        for number in range(6):
            router.join(str(number), [number, (number + 2 + number % 3) % 8, (number + 5) % 8])
