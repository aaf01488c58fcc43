"""Output streams: the answer goes to standard output, everything else to standard error."""

import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from sim.report.progress import ProgressCallback
from sim.report.words import words

_SECONDS_PER_LINE = 60
_AS_THEY_ARE = ("seed",)
"""Numbers that are names: they are copied, not read."""


def answer(values: Mapping[str, Any], *, as_json: bool) -> None:
    """Prints a command's answer: one JSON object, or a line for each value, in words, digits that say something."""
    if as_json:
        print(json.dumps(values))
        return
    width = max(map(len, values))
    for key, value in values.items():
        if key.endswith("_fraction") and isinstance(value, float):
            text = f"{value:.1%}"
        elif key in _AS_THEY_ARE or isinstance(value, str):
            text = str(value)
        else:
            text = words(value)
        print(f"{key.replace('_', ' ').removesuffix(' fraction'):{width}}  {text}")


def _left(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < _SECONDS_PER_LINE else f"{seconds / 60:.0f} min"


@contextmanager
def progress_bars() -> Iterator[ProgressCallback]:
    """Bars on standard error, one a stage, with the time that is left; on anything but a terminal, a line when a stage
    begins and every minute."""
    console = Console(stderr=True)
    if not console.is_terminal:
        last: dict[str, float] = {}
        begun: dict[str, tuple[float, int]] = {}
        start = time.monotonic()

        def line(stage: str, done: int, total: int) -> None:
            now = time.monotonic()
            first, before = begun.setdefault(stage, (now, done))
            if now - last.get(stage, -math.inf) >= _SECONDS_PER_LINE:
                count = f" {done}/{total}" if stage in last else ""
                if before < done < total:
                    count += f", {_left((now - first) * (total - done) / (done - before))} left"
                last[stage] = now
                console.print(f"{now - start:6.1f} s  {stage}{count}", highlight=False)

        yield line
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        tasks = {}

        def advance(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield advance
