"""How many threads or processes a run may use, as the environment says."""

import os

MOST_THREADS = 1024
VARIABLE = "CONIC_THREADS"
"""Environment variable with the number of threads."""


class ThreadsError(ValueError):
    """CONIC_THREADS is no number of threads."""


def wanted_threads() -> int | None:
    """Number of threads that CONIC_THREADS asks for; None if it is not set, or empty.

    Raises
    ------
    ThreadsError
        If it is no number from 1 to :data:`MOST_THREADS`.
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MOST_THREADS):
        raise ThreadsError(f"{VARIABLE} must be 1 to {MOST_THREADS}, not {text[:40]!r}")
    return int(text)
