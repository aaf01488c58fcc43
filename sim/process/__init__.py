"""Processes on the hosts of a cluster, in simulated time: what they do takes what a `sim.host.Host` says.

A process is a generator that yields when it has nothing to do before something comes from its NIC. Time of processors
passes by itself; time of NICs and network is that of the RTL.
"""

from .machine import Machine
from .process import Arrival, Node, Process

__all__ = ["Arrival", "Machine", "Node", "Process"]
