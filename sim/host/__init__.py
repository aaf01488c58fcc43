"""The host's side of a NIC: memory, rings, doorbells, completions."""

from .driver import Completion, HostError, NodeDriver, Port, Received, Rings
from .transport import Transport

__all__ = ["Completion", "HostError", "NodeDriver", "Port", "Received", "Rings", "Transport"]
