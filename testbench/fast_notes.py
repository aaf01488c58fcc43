"""What is known while `make test-fast` runs: a file of lines that its tests write and that its front reads."""

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
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    note("bench failed", test=test, text="\n".join(lines))


def read(path: Path, offset: int = 0) -> tuple[list[dict[str, Any]], int]:
    """The notes from `offset` on, and the offset behind them."""
    if not path.exists():
        return [], offset
    with path.open("rb") as file:
        file.seek(offset)
        text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines()], offset + len(whole)
