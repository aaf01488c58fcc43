"""The seed of a randomised run: where it comes from, and how to have the same one again."""

import hashlib
import os
import random


def drawn(name: str = "") -> int:
    """A seed of 32 bits for the run `name`, printed with the way to repeat it.

    CONIC_SEED is taken as it stands, for one run that is looked at. With CONIC_SEEDS each test and each name has a
    seed of its own that follows from that number: a gate that turns red without a change to blame is soon not looked
    at, so `make test` says the number. Without either a new one is drawn: `make test-long` does, and finds what the
    gate's seeds do not.
    """
    if "CONIC_SEED" in os.environ:
        seed = int(os.environ["CONIC_SEED"])
    elif "CONIC_SEEDS" in os.environ:
        # PYTEST_CURRENT_TEST is "path::test[case] (call)": parts of one test differ, runs of it do not.
        place = f"{os.environ['CONIC_SEEDS']}/{os.environ.get('PYTEST_CURRENT_TEST', '')}/{name}"
        seed = int.from_bytes(hashlib.sha256(place.encode()).digest()[:4], "big")
    else:
        seed = random.SystemRandom().randrange(1 << 32)
    print(f"{name + ': ' if name else ''}seed {seed} (CONIC_SEED={seed} repeats this run)")
    return seed
