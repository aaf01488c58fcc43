"""Congestion control at packet level: networks, workloads, algorithms, the measure (``docs/congestion.md``)."""

from sim.model.congestion.collectives import collective_flows
from sim.model.congestion.core.records import ALGORITHMS
from sim.model.congestion.error import CongestionError
from sim.model.congestion.flow_file import read_flows, write_flows
from sim.model.congestion.flows import Flow
from sim.model.congestion.metric import CONFIGURATIONS, Degradation, Weights, degradation
from sim.model.congestion.network import Link, Network
from sim.model.congestion.parameters import Parameters, defaults
from sim.model.congestion.prepare import check_run
from sim.model.congestion.result_files import write_fct, write_pfc
from sim.model.congestion.simulate import Outcome, fingerprint, simulate
from sim.model.congestion.topology import dumbbell, fat_tree, ring, small
from sim.model.congestion.topology_file import parse_topology, read_topology, write_topology
from sim.model.congestion.traffic import Traffic, alone, draw

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
