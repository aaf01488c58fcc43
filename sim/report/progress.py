"""How a long computation tells how far it is."""

from typing import Protocol


class ProgressCallback(Protocol):
    """How a long computation tells how far it is: `done` of `total` in `stage`."""

    def __call__(self, stage: str, done: int, total: int) -> None: ...
