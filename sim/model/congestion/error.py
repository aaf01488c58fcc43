"""Error of refused input."""


class CongestionError(ValueError):
    """Bad input of the congestion control simulator; the message is one line."""
