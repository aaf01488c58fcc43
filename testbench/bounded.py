"""Programs that are ended, with all that they started, if they do not end by themselves."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

DEADLINE_VARIABLE = "CONIC_FAST_END"
"""Time (of ``time.time``) at which `make test-fast` wants its verdict; builds and benches end before it."""
on_bench: list[Callable[[], None]] = []
"""Functions called when a bench begins, which has bounds of its own."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


class OutOfTimeError(BaseException):
    """The time of `make test-fast` is over for what runs. No error that a program handles: it may not go on."""


class HungError(OutOfTimeError):
    """A test ran so much longer than usual that it is taken to hang."""


def is_foreign(file: str) -> bool:
    """True for code of Python itself or of a package: what stands there was called by what is of interest."""
    own = (__file__, str(Path(__file__).with_name("guard.py")), str(Path(__file__).with_name("fast_plugin.py")))
    return "site-packages" in file or "/lib/python" in file or file.startswith("<") or file in own


def seconds_left() -> float | None:
    """Seconds until the verdict of `make test-fast` is due; None outside of it."""
    end = os.environ.get(DEADLINE_VARIABLE)
    return None if end is None else float(end) - time.time()


def run_bounded(command: Sequence[str], *, seconds: float | None, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Like ``subprocess.run``, but nothing that the command started outlives this call, however it ends.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    seconds : float or None
        Its bound of wall time.
    **options
        Those of ``subprocess.Popen``.

    Raises
    ------
    subprocess.TimeoutExpired
        If it did not end within `seconds`.
    """
    # A group of its own: a compiler's driver, for one, leaves the compiler behind if it alone is killed.
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        return subprocess.CompletedProcess(command, process.returncode, out, err)


def end_with_parent() -> None:
    """Has the kernel kill this process when its parent dies (Linux; nothing elsewhere)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """From now on processes of which the parent dies become children of this one, so that none is lost (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def descendants(root: int) -> list[int]:
    """Processes that `root` started, and those that these did, by ``/proc``."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            parent = int(entry.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.parent.name))
    found, todo = [], [root]
    while todo:
        of = children.get(todo.pop(), [])
        found += of
        todo += of
    return found


def kill_descendants() -> int:
    """Kills all that this process started and what that started; says how many they were."""
    killed: set[int] = set()
    # A dead process passes its children on, and a live one may start more, so the search repeats until none is left.
    for _ in range(20):
        alive = [pid for pid in descendants(os.getpid()) if not _is_dead(pid)]
        if not alive:
            break
        for pid in alive:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        killed.update(alive)
        time.sleep(0.05)
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return len(killed)


def _is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (OSError, IndexError):
        return True


def _prctl(option: int, value: int) -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
