"""A plugin of pytest: a bench that fails prints what failed, not the source of what ran it."""

from collections.abc import Iterator

import pytest

from testbench.runner import BenchError
from testbench.simulator import BuildError


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Leaves of a bench's failure its message: seed, what failed and where, waveform, end of the log."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, BenchError | BuildError):
        report.longrepr = call.excinfo.getrepr(style="value")
    return report
