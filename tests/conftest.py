"""What all tests share."""

import inspect
import os
from typing import Any

import pytest
from amaranth._unused import MustUse

# Tests run beside each other already: a cluster takes the other cores only where a test asks for threads.
os.environ.setdefault("CONIC_THREADS", "1")

pytest_plugins = ["testbench.cost", "testbench.failing"]

_make = MustUse.__new__


def _make_silent(cls: type, *arguments: Any, src_loc_at: int = 0, **named: Any) -> MustUse:
    made = _make(cls, *arguments, src_loc_at=src_loc_at + 1, **named)
    made._MustUse__silence = True
    return made


@pytest.fixture(autouse=True)
def _refused_components_are_not_elaborated(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A component that a test builds only to see it refused is never elaborated, and that is fine.

    Everywhere else a component that nobody elaborates fails a test, as it warns.
    """
    if "pytest.raises(" in inspect.getsource(request.function):
        monkeypatch.setattr(MustUse, "__new__", staticmethod(_make_silent))
