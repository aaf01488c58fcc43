"""Cover points, which a bench has to reach in the component: sampled where a stimulus took effect.

A bench declares them with :func:`cover`; every bin is a promise. :func:`testbench.runner.run_bench` fails a whole run
that passed its tests but left a bin empty, so that nobody shortens a bench below what it has to find. As a program this
module measures all tests that `make test` runs and writes the table of ``docs/testbench.md``:
``python -m testbench.coverage docs/figures/coverage.json``.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from testbench.bench_report import report

Hits = dict[str, dict[str, int]]
"""By cover point: how often each bin was hit."""


def cover(name: str, *, never: Collection[tuple[Any, ...]] = (), **points: Collection[Any]) -> Callable[..., None]:
    """Inside of a bench: declares a cross of points, all of whose bins must be hit in a run.

    Parameters
    ----------
    name : str
        What is covered; unique in the bench.
    never : collection of tuples
        Combinations that do not exist.
    **points
        The values of each point that must be seen. Others may come and are not counted.

    Returns
    -------
    callable
        Notes one sample; takes a value for each point by name.
    """
    from cocotb_coverage.coverage import CoverCross, CoverPoint, coverage_db, coverage_section

    if name in _names:
        raise ValueError(f"name must be new in the bench, not {name!r}")
    if not _names and "CONIC_REPORT" in os.environ:  # in the simulator, that is
        atexit.register(_hand_over)
    _names.append(name)
    items = [f"{name}.{point}" for point in points]
    section = [
        CoverPoint(item, xf=lambda sample, point=point: sample[point], bins=list(points[point]))
        for item, point in zip(items, points, strict=True)
    ]
    if len(items) > 1:
        section.append(CoverCross(f"{name}.cross", items=items, ign_bins=list(never)))

    @coverage_section(*section)
    def note(sample: Mapping[str, Any]) -> None:
        pass

    _hits[name] = lambda: coverage_db[f"{name}.cross" if len(items) > 1 else items[0]].detailed_coverage
    return lambda **sample: note(sample)


def dealt(numbers: Random, items: Iterable[Any]) -> Iterator[Any]:
    """Endlessly: all of `items` in random order, then again. So a short run has every one, not only most of them."""
    deck = list(items)
    while True:
        numbers.shuffle(deck)
        yield from deck


_names: list[str] = []
_hits: dict[str, Callable[[], Mapping[Any, int]]] = {}


def _hand_over() -> None:
    report(coverage={name: {_text(key): count for key, count in hits().items()} for name, hits in _hits.items()})


def _text(key: Any) -> str:
    return " × ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def missing(coverage: Hits) -> list[str]:
    """A line for each bin that was not hit."""
    return [
        f"not covered: {name}: {key}" for name, hits in coverage.items() for key, count in hits.items() if not count
    ]


def keep(bench: str, coverage: Hits) -> None:
    """Keeps the coverage of a run in the folder CONIC_COVERAGE, if there is one."""
    if coverage and (folder := os.environ.get("CONIC_COVERAGE")):
        path = Path(folder, f"{uuid4().hex}.json")
        path.write_text(json.dumps({"bench": bench, "coverage": coverage}))


def measure() -> list[dict[str, Any]]:
    """Runs the benches of ``tests/`` as `make test` does; a row for each bench and name that it covers.

    Raises
    ------
    RuntimeError
        If a test fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-m", "not long", "tests/rtl",
             "tests/fpga"],
            env=os.environ | {"CONIC_COVERAGE": folder}, capture_output=True, text=True, check=False,
        )
        if result.returncode:
            raise RuntimeError(result.stdout)
        runs = [json.loads(path.read_text()) for path in Path(folder).glob("*.json")]
    return merged(runs)


def merged(runs: Collection[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows for the table: bench, name, bins, the runs that covered it and the least hits of a bin in a run."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for run in runs:
        for name, hits in run["coverage"].items():
            row = rows.setdefault((run["bench"], name), {
                "bench": run["bench"], "covers": name, "bins": len(hits), "runs": 0, "least": min(hits.values()),
            })
            row["runs"] += 1
            row["bins"] = max(row["bins"], len(hits))
            row["least"] = min(row["least"], *hits.values())
    return [rows[key] for key in sorted(rows)]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(measure(), indent=1) + "\n")
