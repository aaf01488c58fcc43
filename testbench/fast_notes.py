"""Notes of a running `make test-fast`: a file of lines that its tests write and that its front reads."""

import json
import os
import time
from pathlib import Path
from typing import Any

VARIABLE = "CONIC_FAST_NOTES"
"""Names the file."""


def note(kind: str, **values: Any) -> None:
    """Adds a line; nothing outside of `make test-fast`."""
    path = os.environ.get(VARIABLE)
    if path:
        line = json.dumps({"kind": kind, "time": time.time(), **values}) + "\n"
        with Path(path).open("ab", buffering=0) as file:  # a single write, which workers side by side do not tear
            file.write(line.encode())


def failed(lines: list[str]) -> None:
    """A bench failed: its first run says so, before there is a waveform."""
    note("bench failed", test=_current(), text="\n".join(lines))


def spared() -> None:
    """A bench of this test was not run again."""
    note("spared", test=_current())


def all_spared() -> set[str]:
    """Tests of which what they cost this time tells nothing."""
    path = os.environ.get(VARIABLE)
    return {one["test"] for one in read(Path(path))[0] if one["kind"] == "spared"} if path else set()


def read(path: Path, offset: int = 0) -> tuple[list[dict[str, Any]], int]:
    """The notes from `offset` on, and the offset behind them."""
    if not path.exists():
        return [], offset
    with path.open("rb") as file:
        file.seek(offset)
        text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines()], offset + len(whole)


def _current() -> str:
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
