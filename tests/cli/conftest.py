"""Runs the command line in this process."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from sim.cli.main import main


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def conic(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Calls `conic` with some arguments."""
    def call(*arguments: str) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        assert isinstance(end.value.code, int)
        captured = capsys.readouterr()
        return Outcome(end.value.code, captured.out, captured.err)

    return call
