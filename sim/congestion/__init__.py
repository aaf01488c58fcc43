"""Congestion control at packet level: networks, workloads, algorithms, the measure (``docs/congestion.md``)."""

from sim.congestion.collectives import collective_flows
from sim.congestion.core.records import ALGORITHMS
from sim.congestion.error import CongestionError
from sim.congestion.flow_file import read_flows, write_flows
from sim.congestion.flows import Flow
from sim.congestion.metric import CONFIGURATIONS, Degradation, Weights, degradation
from sim.congestion.network import Link, Network
from sim.congestion.parameters import Parameters, defaults
from sim.congestion.prepare import check_run
from sim.congestion.result_files import write_fct, write_pfc
from sim.congestion.simulate import Outcome, fingerprint, simulate
from sim.congestion.topology import dumbbell, fat_tree, ring, small
from sim.congestion.topology_file import parse_topology, read_topology, write_topology
from sim.congestion.traffic import Traffic, alone, draw

__all__ = [
    "ALGORITHMS",
    "CONFIGURATIONS",
    "CongestionError",
    "Degradation",
    "Flow",
    "Link",
    "Network",
    "Outcome",
    "Parameters",
    "Traffic",
    "Weights",
    "alone",
    "check_run",
    "collective_flows",
    "defaults",
    "degradation",
    "draw",
    "dumbbell",
    "fat_tree",
    "fingerprint",
    "parse_topology",
    "read_flows",
    "read_topology",
    "ring",
    "simulate",
    "small",
    "write_fct",
    "write_flows",
    "write_pfc",
    "write_topology",
]
