"""What is refused."""


class CongestionError(ValueError):
    """Bad input of the congestion control simulator; the message is one line."""
