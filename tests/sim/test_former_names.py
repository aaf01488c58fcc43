"""Programs of earlier versions find the modules that have moved."""

import importlib
import subprocess
import sys

import pytest

from sim.former_names import FORMER_NAMES


@pytest.mark.parametrize(("former", "today"), FORMER_NAMES.items())
def test_former_names(former: str, today: str) -> None:
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning, match=f"^{former} has moved: import {today}$"):
        module = importlib.import_module(former)
    assert module is importlib.import_module(today)
    assert module.__name__ == today
    sys.modules.pop(former)


def test_modules_of_a_package_that_has_moved() -> None:
    with (
        pytest.warns(DeprecationWarning, match=r"import sim.model.congestion$"),
        pytest.warns(DeprecationWarning, match=r"import sim.model.congestion.topology$"),
    ):
        from sim.congestion.topology import __name__ as name
    assert name == "sim.model.congestion.topology"


def test_others_are_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"'sim.sessions'"):
        importlib.import_module("sim.sessions")


def test_a_program_sees_the_warning() -> None:
    """Once, with the line that is to be changed."""
    program = "import sim.session\nfrom sim.session import Session\nprint(Session.__module__)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "sim.operation.session"
    assert run.stderr.count("sim.session has moved: import sim.operation.session") == 1
