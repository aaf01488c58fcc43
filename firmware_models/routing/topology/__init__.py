"""Networks by name: fat trees, the Sunway machines, tori, dragonflies, random networks, files."""

from firmware_models.routing.topology.parse import TOPOLOGIES, parse_topology

__all__ = ["TOPOLOGIES", "parse_topology"]
