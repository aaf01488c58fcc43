"""Studies: experiments of the papers that anyone can run again.

The module of a study has a function ``run(*, is_quick, parts, row_files, save_rows, folder, progress)`` that returns a
`StudyResult` and leaves ``index.html`` in `folder`.
"""

from dataclasses import dataclass, field
from typing import Any


class StudyError(ValueError):
    """A study that cannot be run as asked; the message is one line."""


@dataclass(frozen=True)
class Study:
    """Where a study is, and what it is about."""

    module: str
    about: str


@dataclass(frozen=True)
class StudyResult:
    """What a study found.

    Members
    -------
    rows : list of dict
        Everything measured.
    claims : list of dict
        `claim`, `holds`, `measured`, `expected`.
    table : str
        What a terminal shows.
    """

    rows: list[dict[str, Any]]
    claims: list[dict[str, Any]] = field(default_factory=list)
    table: str = ""


STUDIES = {
    "area": Study("sim.study.area", "Table 2 of the NIC paper: the offload unit on UltraScale+, share of each block."),
    "congestion-collectives": Study("sim.study.congestion_collectives",
                                    "Collectives of this project under background traffic, by congestion control."),
    "congestion-dumbbell": Study("sim.study.congestion_dumbbell",
                                 "Congestion control on two switches: the measure of degradation."),
    "congestion-large": Study("sim.study.congestion_large",
                              "Congestion control on 320 hosts, HPC traffic model: the measure of degradation."),
    "congestion-small": Study("sim.study.congestion_small",
                              "Congestion control of two long flows under a burst: throughput, latency, PFC."),
    "connections": Study("sim.study.connections_report",
                         "Connection memory: the paper's numbers, memory by processes, group sizes, runs."),
    "mft": Study("sim.study.mft_report", "Multicast trees in small forwarding tables: colours, EFI, TFI, time."),
}
"""All studies by name."""
