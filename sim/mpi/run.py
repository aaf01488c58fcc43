"""A program on a cluster of its own: builds what is needed, runs it, reports."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from firmware_models.config import Config, need_messages
from firmware_models.schedule import collective_names
from sim.cluster import build_library
from sim.cluster.activities import activities
from sim.cluster.stalls import StallProfile
from sim.fabric.topology import Topology, parse_topology
from sim.mpi.fabric import Fabric
from sim.mpi.interposer import build_interposer
from sim.mpi.launch import Launch
from sim.mpi.links import limited
from sim.mpi.mpich import chosen
from sim.mpi.policy import Policy
from sim.mpi.sections import Section
from sim.mpi.service import Service
from sim.mpi.standing import StandingCallback
from sim.mpi.symbols import remarks
from sim.report.activity import Activity
from sim.report.progress import ProgressCallback

LEAST_NICS = 2
"""Of a program of one rank too, whose collectives are all MPI's own: no switch has fewer."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """Program to be run.

    Members
    -------
    sections : sequence of Section
        Programs with their arguments and processes; each process has a NIC.
    config, topology : Config, str
        The hardware, and how it is wired.
    policy : Policy
        How collectives are served.
    check : bool
        MPI carries out every collective too, and every element is compared.
    compute_scale : float
        Simulated seconds for a second of the program's own.
    stalls : StallProfile
        How memories, links and starts are disturbed; no bit of a result may depend on it.
    seed : int
        Of what is random in that.
    trace, quiet : bool
        Log what NICs do; send what the program prints to standard error.
    cleanup : bool
        All ranks are ended when one aborts or dies.
    variables : mapping
        Variables for all processes.
    folder : Path, optional
        Where they run; the present one if left out.
    """

    sections: Sequence[Section]
    config: Config
    topology: str
    policy: Policy
    check: bool = False
    compute_scale: float = 1.0
    stalls: StallProfile = field(default_factory=StallProfile)
    seed: int = 0
    trace: bool = False
    quiet: bool = False
    cleanup: bool = True
    variables: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def ranks(self) -> int:
        """Processes, and NICs."""
        return sum(section.ranks for section in self.sections)

    def environment(self) -> dict[str, str]:
        """Variables that the interposer and MPI read."""
        variables = {**self.variables, "CONIC_MPI_COMPUTE_SCALE": repr(self.compute_scale)}
        if self.policy.simulated:
            variables["CONIC_MPI_FREQUENCY"] = repr(self.policy.frequency)
        if self.check:
            variables["CONIC_MPI_CHECK"] = "1"
            variables |= chosen({collective: self.policy.algorithm(collective) for collective in collective_names()})
        return variables


@dataclass(frozen=True, kw_only=True)
class ProgramResult:
    """Result of a program: how it ended, its figures, and the NICs' activity if that was asked for."""

    code: int
    error: str | None
    report: Mapping[str, Any]
    events: Sequence[Activity]


def wired(config: Config, topology: Topology, *, ranks: int) -> Config:
    """The hardware of a program: switches with the ports that the topology wants, and an entry for each rank."""
    entries = max(config.switch.table_entries, 1 << (ranks - 1).bit_length())
    switch = replace(config.switch, radix=max(2, *topology.radixes), table_entries=entries)
    return replace(config, switch=switch)


def run_program(
    program: Program, *, progress: ProgressCallback | None = None, tell: StandingCallback | None = None
) -> ProgramResult:
    """Runs a program to its end; `progress` is of what is built before, `tell` hears how far the program is.

    Raises
    ------
    ConfigError
        If its NICs have no point-to-point path.
    MpiError
        If there is no MPI to run it under.
    FabricError
        If a limit of the operating system leaves no room for it.
    TopologyError
        If there is no such topology.
    """
    try:
        return _run(program, progress, tell)
    except OSError as error:
        raise limited(error) from None


def _preloaded(program: Program) -> list[str]:
    """Libraries that the user has loaded before the program."""
    given = [os.environ, program.variables, *(section.variables for section in program.sections)]
    return [path for variables in given for path in re.split("[ :]+", variables.get("LD_PRELOAD", "")) if path]


def _run(program: Program, progress: ProgressCallback | None, tell: StandingCallback | None) -> ProgramResult:
    need_messages(program.config, "what a message takes to be measured")
    interposer = build_interposer()
    topology = parse_topology(program.topology, n_nodes=max(LEAST_NICS, program.ranks))
    config = wired(program.config, topology, ranks=topology.n_nodes)
    library = build_library(config, progress=progress)
    multicast = any("multicast" in algorithm for algorithm in program.policy.algorithms.values())
    started = Launch(
        sections=program.sections, interposer=interposer, environment=program.environment(), quiet=program.quiet,
        cleanup=program.cleanup, folder=program.folder,
    )
    with started as launch, closing(
        Fabric(library, config, topology, multicast=multicast, stalls=program.stalls, seed=program.seed)
    ) as fabric:
        fabric.cluster.log_events(program.trace)
        service = Service(fabric, program.policy)
        outcome = launch.serve(service, tell=tell)
        service.tally.remarks += remarks(
            [section.command[0] for section in program.sections], _preloaded(program),
        )
        events = activities(fabric.cluster.events()) if program.trace else []
        return ProgramResult(code=outcome.code, error=outcome.error, report=service.report(), events=events)
