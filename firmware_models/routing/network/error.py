"""The one error of routing."""


class RoutingError(ValueError):
    """Input that cannot be routed; the message is one line that names what is wrong and what would be right."""
