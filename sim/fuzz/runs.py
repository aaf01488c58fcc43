"""Fuzzing with several seeds at once: their NICs stand in the lanes of one word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from firmware_models.config import Config
from sim.cluster import side_by_side
from sim.fuzz.nic import HOSTILE, NicFuzzer


@dataclass(frozen=True)
class FuzzRun:
    """Work of one seed: descriptors and packets, and the cycles that they took."""

    seed: int
    descriptors: int
    packets: int
    cycles: int


def fuzz(library: Path, config: Config, seeds: Sequence[int], *, count: int, batch: int) -> Iterator[FuzzRun]:
    """Fuzzes a NIC for each seed, in their order; each run is the one that its seed gives alone.

    Parameters
    ----------
    library : Path
        Library of a cluster of `config`.
    config : Config
        The hardware.
    seeds : sequence of int
        Seeds.
    count : int
        Descriptors and packets of a seed, half of each; at least so many.
    batch : int
        Descriptors that a hostile VP posts at once, at most 256.

    Raises
    ------
    FuzzError
        The first finding.
    """
    yield from side_by_side(partial(_run, library, config, count, batch), seeds, library, nodes=1)


def _run(library: Path, config: Config, count: int, batch: int, seed: int) -> FuzzRun:
    with NicFuzzer(library, config, seed=seed) as fuzzer:
        while fuzzer.descriptors + fuzzer.packets < count:
            fuzzer.post(batch)
            fuzzer.send(batch * len(HOSTILE))
            fuzzer.renew()
        return FuzzRun(seed, fuzzer.descriptors, fuzzer.packets, fuzzer.cluster.cycle)
