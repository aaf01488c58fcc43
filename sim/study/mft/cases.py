"""Cases of the study of multicast tables: the networks and patterns of the paper, and its figures."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """A pattern on a network, with what the paper reports of it.

    Members
    -------
    network : str
        Short name, for tables and plots.
    topology, pattern : str
        As on the command line.
    processes : int
        Processes a terminal.
    mft_size : int
        The size that the paper recommends for such networks (its table 4).
    paper : dict
        Known figures: `colours`, `max_efi`, `merged_efi`, `max_tfi`, `mean_tfi`, `seconds`, `merged_seconds`.
    is_hard : bool
        True if the network has no levels, so that trees get into each other's way.
    """

    network: str
    topology: str
    pattern: str
    processes: int
    mft_size: int
    paper: dict[str, Any]
    is_hard: bool

    @property
    def label(self) -> str:
        """How plots call it."""
        name = self.pattern.partition(":")[0]
        return name if self.processes == 1 else f"{name}·{self.processes}"


_RANDOM = "random:groups=2000,size=32,seed=1"


def _cases(network: str, topology: str, mft_size: int, *patterns: Any) -> list[Case]:
    found = []
    for pattern in patterns:
        name, processes, paper = pattern if isinstance(pattern, tuple) else (pattern, 1, {})
        is_hard = network in ("torus", "dragonfly", "random")
        found.append(Case(network, topology, name, processes, mft_size, paper, is_hard))
    return found


FULL = [
    *_cases("BlueLight", "bluelight", 128, ("256x34", 1, {"colours": 29}), ("90x90", 1, {"colours": 50}),
            "32x16x17", "20x20x20", _RANDOM, ("64x16x34", 4, {"max_efi": 24, "merged_efi": 58})),
    *_cases("TaihuLight", "taihulight", 128, "1024x40", "200x200", "32x32x40", "34x34x34", _RANDOM,
            ("128x32x40", 4, {"colours": 269, "max_efi": 37, "merged_efi": 300, "max_tfi": 66, "mean_tfi": 1.36,
                              "seconds": 48.0, "merged_seconds": 191.5})),
    *_cases("fat tree", "fat-tree:40", 128, "125x128", "126x126", "20x25x32", "25x25x25", _RANDOM, ("40x40x40", 4, {})),
    *_cases("torus", "torus:30x20x20:2", 256, "240x100", "150x150", "60x20x20", "28x28x28", _RANDOM,
            ("45x45x45", 4, {"colours": 2166})),
    *_cases("dragonfly", "dragonfly:a=18,p=9,h=9", 256, "162x163", "162x162", "18x9x163", "29x29x29", _RANDOM,
            ("47x47x47", 4, {"colours": 486})),
    *_cases("random", "random:switches=2048,ports=40,terminals=20,seed=1", 256,
            ("256x160", 1, {"max_efi": 20, "merged_efi": 34}),
            "200x200", "32x32x40", "34x34x34", _RANDOM,
            ("128x32x40", 4, {"colours": 2852, "max_efi": 139, "merged_efi": 4687})),
]
"""All networks and six patterns on each: those that the paper names, and others of the same kind."""

QUICK = [
    *_cases("fat tree", "fat-tree:8", 16, "8x16", "8x4x4", ("8x8x8", 4, {})),
    *_cases("trimmed", "bluelight:planes=4,leaves=4,terminals=4,middles=4,tops=4,paths=2", 16, "8x8", "4x4x4"),
    *_cases("torus", "torus:6x5x4:2", 32, "15x16", "6x6x6", ("8x8x8", 4, {})),
    *_cases("dragonfly", "dragonfly:a=6,p=3,h=3", 32, "18x19", "7x7x6"),
    *_cases("random", "random:switches=60,ports=10,terminals=5,seed=1", 32, "20x15", "6x7x7"),
]
"""The same in small, for a look and for tests."""

SWEEP = {False: (("TaihuLight", "taihulight", "34x34x34"),
                 ("random", "random:switches=2048,ports=40,terminals=20,seed=1", "32x32x40")),
         True: (("fat tree", "fat-tree:8", "8x4x4"),
                ("random", "random:switches=60,ports=10,terminals=5,seed=1", "6x7x7"))}
"""Networks and patterns for which the EFI is swept over table sizes (figure 8); under True those of the quick study."""

OPENSM = {
    "125x128": {"max_efi": 130, "seconds": 1.269, "max_entries": 163},
    "20x25x32": {"max_efi": 433, "seconds": 2.433, "max_entries": 1460},
}
"""OpenSM 3.3.23 itself on the 40-port fat tree, its grids with the last dimension fastest: processor seconds of root
choice, trees and table bits for all groups."""
