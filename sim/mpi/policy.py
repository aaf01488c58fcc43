"""How the collectives of a program are served."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from firmware_models.schedule import default_algorithm
from sim.host import load_host
from sim.mpi.host_model import Host


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How a program is served.

    Members
    -------
    algorithms : mapping
        Algorithm of a collective, where it is not the default one.
    patience : float
        Seconds that ranks wait for others that do nothing; 0: for ever.
    work_patience : float
        Seconds that they wait for others that work outside of MPI; 0: for ever.
    frequency : float
        Cycles a second of NICs and switches.
    simulated : bool
        Programs get simulated time, and ranks ring as far apart as they come in it.
    host : Host
        Of the host-based column.
    """

    algorithms: Mapping[str, str]
    patience: float = 3.0
    work_patience: float = 600.0
    frequency: float = 500e6
    simulated: bool = False
    host: Host = field(default_factory=lambda: Host.of(load_host("server")))

    def algorithm(self, collective: str) -> str:
        """The algorithm of a collective."""
        return self.algorithms.get(collective, default_algorithm(collective))
