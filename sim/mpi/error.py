"""What can go wrong on the simulated NICs."""


class FabricError(RuntimeError):
    """An operation did not end, or ended in an error."""
