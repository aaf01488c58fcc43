"""The host's side of a NIC: memory, rings, doorbells, completions."""

from .driver import Completion, HostError, NodeDriver, Port, Received

__all__ = ["Completion", "HostError", "NodeDriver", "Port", "Received"]
