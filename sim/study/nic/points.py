"""Points that the studies of the NIC paper measure: its collectives, algorithms, sizes and numbers of jobs (section
2.2)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

KIB = 1 << 10
SIZES = (256, *(n * KIB for n in (4, 8, 16, 32, 48, 64, 128, 256, 384, 512, 768, 1024)))
"""The paper's 13 sizes."""
JOBS = (1, 8, 32)
NODES = 32
WAYS = ("offloaded", "host-based")


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments.

    Members
    -------
    name : str
        Of the study.
    collective, algorithm : str
        What the paper measures.
    paper : dict
        Its speed-ups: those that the text names, by (bytes, jobs), and `least` and `most` of all.
    """

    name: str
    collective: str
    algorithm: str
    paper: dict[Any, float]


EXPERIMENTS = {
    "nic-broadcast": Experiment(
        "nic-broadcast", "broadcast", "double-binary-tree",
        {(256, 1): 2.11, (1 << 20, 32): 1.3, "least": 1.3, "most": 2.11},
    ),
    "nic-reduce": Experiment(
        "nic-reduce", "reduce", "rabenseifner",
        # The text gives the range and that the speed-up grows with the size: the ends belong to the ends.
        {(256, jobs): 1.46 for jobs in JOBS} | {(1 << 20, jobs): 2.42 for jobs in JOBS} | {"least": 1.46, "most": 2.42},
    ),
    "nic-allreduce": Experiment(
        "nic-allreduce", "allreduce", "rabenseifner",
        # "Slightly above" those of the reduction.
        {(256, jobs): 1.46 for jobs in JOBS} | {(1 << 20, jobs): 2.42 for jobs in JOBS} | {"least": 1.46, "most": 2.42},
    ),
}

_QUICK = ((1, (256, 4 * KIB, 64 * KIB, 1 << 20)), (8, (256, 4 * KIB, 16 * KIB)), (32, (256, 4 * KIB)))
PCIE_8_LANES_GBITS = 57.5
"""Payload each way of PCIe generation 3 with 8 lanes, the most that one block of a Virtex-7 or Virtex UltraScale device
has (AMD PG023 and PG156): 8 GB/s, of which packets of 256 bytes leave 89.8% (Intel AN 708, writes)."""
CHANGES: dict[str, dict[str, float]] = {
    "as it is": {},
    "software × 0.25": {"software": 0.25},
    "software × 0.5": {"software": 0.5},
    "software × 2": {"software": 2.0},
    "reduction × 0.25": {"reduction": 0.25},
    "reduction × 2": {"reduction": 2.0},
    "eager to 8 KiB": {"eager_bytes": 8 * KIB},
    "segments of 16 KiB": {"segment_bytes": 16 * KIB},
    "operand in place": {"operand_copies": 0},
    "PCIe × 0.25": {"pcie": 0.25},
    "PCIe × 0.5": {"pcie": 0.5},
    "memory × 0.5": {"memory": 0.5},
    "memory × 0.25": {"memory": 0.25},
    "PCIe of 8 lanes": {"pcie_gbits": PCIE_8_LANES_GBITS},
}
"""Other hosts: what software takes, combining, how a library sends, how far the NIC is, what its cores share."""
_CHANGE_SIZES = (256, 16 * KIB, 1 << 20)
_SHARED: dict[str, tuple[tuple[int, int], ...]] = {
    "memory": ((8, 1 << 20),), "pcie_gbits": ((1, 1 << 20), (8, 1 << 20)),
}
"""Jobs and bytes for which what jobs share matters; 32 jobs would be hours more of a core."""


def cases(is_quick: bool) -> Iterator[tuple[int, int]]:
    """Jobs and bytes of a job."""
    if is_quick:
        for jobs, sizes in _QUICK:
            for size in sizes:
                yield jobs, size
        return
    for jobs in JOBS:
        for size in SIZES:
            yield jobs, size


def ways_of(change: str) -> tuple[str, ...]:
    """The ways for which a change of the host makes a difference: NICs do not use what the cores of a host share."""
    return ("host-based",) if "memory" in CHANGES.get(change, ()) else WAYS


def changes(is_quick: bool) -> Iterator[tuple[str, int, int]]:
    """Changes of the host, jobs and bytes."""
    for name, change in CHANGES.items():
        shared = [point for kind in change for point in _SHARED.get(kind, ())]
        if shared:
            if not is_quick:
                yield from ((name, *point) for point in shared)
        # Another PCIe is another cluster, whose start takes longer than the quick points.
        elif change and not (is_quick and "pcie" in change):
            for size in _CHANGE_SIZES[:1] if is_quick else _CHANGE_SIZES:
                yield name, 1, size
