"""Fixtures and hooks that all tests share."""

import os
import signal
from typing import Any

import pytest
from amaranth.hdl import Elaboratable

# Tests run beside each other already: a cluster takes the other cores only where a test asks for threads.
os.environ.setdefault("CONIC_THREADS", "1")

# A shell without job control starts what ends in "&" with SIGINT ignored, and all that it starts inherits that: tests
# that interrupt a program would wait for nothing.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGQUIT):  # likewise, and under nohup
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)

pytest_plugins = ["testbench.cost", "testbench.failing"]


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test that builds components to see them refused, or to ask them something: nobody elaborates them.

    Amaranth warns of such components when they are collected, which is too late for the filters of a test.
    """
    make = Elaboratable.__new__

    def made_silently(cls: type, *arguments: Any, src_loc_at: int = 0, **named: Any) -> Any:
        component = make(cls, *arguments, src_loc_at=src_loc_at + 1, **named)
        component._MustUse__silence = True
        return component

    monkeypatch.setattr(Elaboratable, "__new__", made_silently)
