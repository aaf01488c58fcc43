"""Studies: experiments of the papers that anyone can run again.

The module of a study has a function ``run(*, is_quick, parts, row_files, save_rows, folder, progress)`` that returns a
`StudyResult` and leaves ``index.html`` in `folder`. That of a grid, which can be interrupted and gone on with, takes
`options` as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class StudyError(ValueError):
    """A study that cannot be run as asked; the message is one line."""


@dataclass(frozen=True)
class Study:
    """Where a study is, what it is about, and whether it is a grid, which takes :class:`GridOptions`."""

    module: str
    about: str
    is_grid: bool = False
    preset: str = "paper"
    nodes: int = 32
    """Hardware and nodes of a grid, unless others are asked for."""
    fixed: Mapping[str, str] = field(default_factory=dict)
    """Which of a grid's options it does not take, and why."""


@dataclass(frozen=True, kw_only=True)
class GridOptions:
    """How a grid is measured.

    Members
    -------
    processes : int
        At most so many points at once; it changes no row.
    scheduler : str, optional
        Address of a Dask scheduler whose workers measure, instead of processes.
    limit : float, optional
        Seconds that it may take.
    results : Path, optional
        Where rows are kept as they come; ``rows.jsonl`` in the study's folder if not given.
    preset, host : str
        Hardware and host; a host may be a YAML file.
    nodes : int
        Nodes.
    """

    processes: int = 1
    scheduler: str | None = None
    limit: float | None = None
    results: Path | None = None
    preset: str = "paper"
    host: str = "paper"
    nodes: int = 32


@dataclass(frozen=True)
class StudyResult:
    """Result of a study.

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


_NO_HOST = "which measures NICs alone"
STUDIES = {
    "algorithms": Study("sim.study.algorithms", "Which algorithm wins where, by size and nodes; `--algorithm auto`.",
                        is_grid=True, fixed={"host": _NO_HOST, "nodes": "which has several numbers of nodes"}),
    "area": Study("sim.study.area", "Table 2 of the NIC paper: the offload unit on UltraScale+, share of each block."),
    "buffer-occupancy": Study("sim.study.nic.buffer_occupancy",
                              "Table 1 of the NIC paper: how full the root's packet buffers are during an allreduce.",
                              is_grid=True),
    "congestion-collectives": Study("sim.model.congestion.study.collectives",
                                    "Collectives of this project under background traffic, by congestion control."),
    "congestion-dumbbell": Study("sim.model.congestion.study.dumbbell",
                                 "Congestion control on two switches: the measure of degradation."),
    "congestion-large": Study("sim.model.congestion.study.large",
                              "Congestion control on 320 hosts, HPC traffic model: the measure of degradation."),
    "congestion-small": Study("sim.model.congestion.study.small",
                              "Congestion control of two long flows under a burst: throughput, latency, PFC."),
    "connections": Study("sim.model.connections.study.report",
                         "Connection memory: the paper's numbers, memory by processes, group sizes, runs."),
    "faults": Study("sim.study.faults.report",
                    "Faults on purpose: goodput under errors, outages, what becomes of every fault.",
                    is_grid=True, preset="small", nodes=4, fixed={"host": _NO_HOST}),
    "nic-allreduce": Study("sim.study.nic.allreduce", "Figure 6's allreduce by Rabenseifner: offloaded beside hosts.",
                           is_grid=True),
    "nic-broadcast": Study("sim.study.nic.broadcast", "Figure 5: broadcast by the double tree, offloaded beside hosts.",
                           is_grid=True),
    "nic-reduce": Study("sim.study.nic.reduce", "Figure 6: reduction by halving, doubling and a binomial tree, beside "
                                                "hosts.", is_grid=True),
    "noise": Study("sim.study.noise.study", "Hosts that are late or interrupted: how much of that offload hides.",
                   is_grid=True),
    "mft": Study("sim.study.mft.report", "Multicast trees in small forwarding tables: colours, EFI, TFI, time."),
    "pulses": Study("sim.study.pulses.study", "Size of pulses and packets in flight against time and buffer occupancy.",
                    is_grid=True, preset="small", nodes=8),
    "reproducibility": Study("sim.study.reproducibility.study",
                             "One SHA-256 over orders, stalls, pulse sizes and mixes of jobs.",
                             is_grid=True, preset="small", nodes=4),
}
"""All studies by name."""
