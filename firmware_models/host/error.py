"""Error of requests that the library refuses."""


class HostError(RuntimeError):
    """The host asked for what there is not: memory, entries of a ring, windows, groups; the message names it."""
