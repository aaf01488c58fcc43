"""JobIDs given out to communicators and taken back."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from firmware_models.abi.formats import JOB_BITS, PULSE_BITS
from firmware_models.schedule import PeerTable


@dataclass(eq=False)
class Job:
    """A JobID: its VP, its peers, and how many pulses each node has counted in it."""

    job_id: int
    vp: int
    peers: PeerTable
    pulses: list[int]
    held: bool = False

    def fits(self, nodes: Sequence[int]) -> bool:
        """True if these nodes have counted alike: packets bear the number of their pulse."""
        return len({self.pulses[node] for node in nodes}) == 1

    def count(self, nodes: Sequence[int], pulses: int) -> None:
        """An operation of so many pulses has been given to these nodes."""
        for node in nodes:
            self.pulses[node] = (self.pulses[node] + pulses) % (1 << PULSE_BITS)


@dataclass
class JobPool:
    """All JobIDs of a cluster; JobID j has VP j modulo `n_vps`.

    Communicators come and go, and the nodes of the next one may have taken part in other operations of a job. So a job
    that has been returned is for nodes that have counted as many pulses in it as each other.
    """

    n_nodes: int
    n_vps: int
    n_peers: int
    _jobs: list[Job] = field(init=False)

    def __post_init__(self) -> None:
        self._jobs = [
            Job(job_id, job_id % self.n_vps, PeerTable(self.n_peers), [0] * self.n_nodes)
            for job_id in range(1 << JOB_BITS)
        ]

    def take(self, nodes: Sequence[int]) -> Job | None:
        """A job for a communicator of these nodes, on a VP that few others hold; none if there is none."""
        holders = [0] * self.n_vps
        for job in self._jobs:
            holders[job.vp] += job.held
        fitting = [job for job in self._jobs if not job.held and job.fits(nodes)]
        # Jobs used before are preferred, so that fresh jobs are left for nodes that have nothing in common.
        best = min(fitting, key=lambda job: (holders[job.vp], not any(job.pulses), job.job_id), default=None)
        if best is not None:
            best.held = True
        return best

    @staticmethod
    def give_back(job: Job) -> None:
        """The communicator is free."""
        job.held = False
