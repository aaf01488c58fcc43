"""Errors of the simulated NICs."""


class FabricError(RuntimeError):
    """An operation did not end, or ended in an error."""
