"""Hosts of the nodes: what their processors, buses, memories and MPI libraries take, as parameters.

Who lets them act on a cluster is `sim.process`.
"""

from .load import DEFAULT, HostError, host_names, load_host, load_host_file, parse_host
from .model import Cpu, Host, Memory, Mpi, Network, Pcie

__all__ = [
    "DEFAULT", "Cpu", "Host", "HostError", "Memory", "Mpi", "Network", "Pcie", "host_names", "load_host",
    "load_host_file", "parse_host",
]
