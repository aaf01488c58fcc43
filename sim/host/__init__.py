"""Hosts of the nodes: what their processors, buses, memories and MPI libraries take, as parameters.

Who lets them act on a cluster is `sim.process`.
"""

from .load import DEFAULT, HostError, host_names, load_host, load_host_file, parse_host
from .model import Cpu, Host, Memory, Mpi, Network, Noise, Pcie
from .noise import Interruptions, late_cycles

__all__ = [
    "DEFAULT", "Cpu", "Host", "HostError", "Interruptions", "Memory", "Mpi", "Network", "Noise", "Pcie", "host_names",
    "late_cycles", "load_host", "load_host_file", "parse_host",
]
