"""The tests that a change touches, the most direct ones first, within a few minutes: ``python -m testbench.fast``.

A test is touched by a file if its imports lead there: those of the test itself, of the ``conftest.py`` files above it,
and of the benches that it names. A file that is no module touches the tests of its folder (``docs/``), or, where it
stands beside modules, what these modules touch.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from testbench.bounded import DEADLINE_VARIABLE, adopt_orphans, kill_descendants
from testbench.cost import remember
from testbench.fast_notes import VARIABLE
from testbench.fast_plugin import COSTS_VARIABLE, STEPS_VARIABLE
from testbench.fast_verdict import Verdict
from testbench.imports import ROOMS, ROOT, distances, graph, module_of, named_in
from testbench.toolchain import build_folder

SECONDS = 165.0
"""No test begins that is not likely to end before that, and none goes on."""
_LAST = 8.0
"""Seconds later everything is ended from outside, and the verdict printed."""
_everything = ("pyproject.toml", "tests/conftest.py")


def changed_files(root: Path = ROOT, since: str | None = None) -> list[Path]:
    """Files that differ from the last commit, or if none does, that it changed; with `since`, from that revision."""

    def git(*arguments: str) -> list[Path]:
        run = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
        return [Path(line) for line in run.stdout.splitlines()]

    new = git("ls-files", "--others", "--exclude-standard")
    found = git("diff", "--name-only", since or "HEAD") + new
    return sorted(set(found or git("diff", "--name-only", "HEAD~1", "HEAD")))


def modules_touched(files: Iterable[Path]) -> set[str]:
    """The modules that are, or that stand beside, one of `files`."""
    modules = graph().modules
    found: set[str] = set()
    for path in files:
        module = module_of(path)
        if module is not None:
            found.add(module)
        elif path.parts[0] in ROOMS:
            folder = ".".join(path.parent.parts)
            same_stem = f"{folder}.{path.stem}"
            found |= {same_stem} & modules or {one for one in modules if one.rpartition(".")[0] == folder}
    return found


def touched_tests(files: Iterable[Path], root: Path = ROOT) -> dict[Path, int]:
    """Test files that `files` touch, with the fewest steps that lead to one of them; the nearest first."""
    files = list(files)
    modules = modules_touched(files)
    everything = any(str(path) in _everything for path in files)
    found: dict[Path, int] = {}
    for test in sorted(path.relative_to(root) for path in root.glob("tests/**/test_*.py")):
        own = {test, *(folder / "conftest.py" for folder in test.parents)}
        if own & set(files):
            found[test] = 0
            continue
        sources = [root / path for path in own if (root / path).exists()]
        needs = distances(set().union(*(named_in(path.read_text()) for path in sources)))
        steps = [1 + needs[module] for module in modules & needs.keys()]
        if test.parts[1] == "docs" and any(path.suffix in (".md", ".json", ".svg") for path in files):
            steps.append(1)
        if everything:
            steps.append(99)
        if steps:
            found[test] = min(steps)
    return dict(sorted(found.items(), key=lambda item: item[1]))


def costs_file() -> Path:
    """Wall time of each test when it last passed."""
    return build_folder() / "test-costs.json"


def main(arguments: list[str]) -> int:
    """Runs the tests; the exit status is pytest's, or 1 if something did not end."""
    began = time.time()
    files = changed_files(since=arguments[0] if arguments else None)
    tests = touched_tests(files)
    print(f"{len(files)} files changed; {len(tests)} test files lead to them"
          + "".join(f"\n  {steps} {test}" for test, steps in tests.items()), flush=True)
    if not tests:
        return 0
    return run(list(map(str, tests)), began=began, steps={str(test): steps for test, steps in tests.items()})


def run(
    tests: list[str], *, began: float, steps: dict[str, int] | None = None, seconds: float = SECONDS,
    options: tuple[str, ...] = ("-n", "2", "--dist", "load", "--maxschedchunk", "1", "-m", "not long"),
    root: Path = ROOT,
) -> int:
    """Runs pytest on `tests` and tells what failed, within `seconds` after `began` and a few more.

    Parameters
    ----------
    tests : list of str
        Test files.
    began : float
        Time (``time.time``) from which on `seconds` count.
    steps : dict of str to int, optional
        How far each of them is from the change; the nearest come first.
    seconds : float
        When all tests have to have ended.
    options : tuple of str
        Further options of pytest.
    root : Path
        Where it runs.
    """
    folder = build_folder() / "fast"
    folder.mkdir(parents=True, exist_ok=True)
    owed_file, costs = folder / "owed.json", costs_file()
    owed = json.loads(owed_file.read_text()) if owed_file.exists() else []
    with tempfile.TemporaryDirectory(dir=folder) as here:
        notes, known = Path(here) / "notes", Path(here) / "known.json"
        known.write_text(json.dumps({
            "costs": json.loads(costs.read_text()) if costs.exists() else {}, "owed": owed,
        }))
        verdict = Verdict(notes, began)
        adopt_orphans()
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", *options, "-p", "testbench.fast_plugin", *tests], cwd=root,
            env=os.environ | {
                "CONIC_SKIP_PASSED": "1", DEADLINE_VARIABLE: str(began + seconds), VARIABLE: str(notes),
                COSTS_VARIABLE: str(known), STEPS_VARIABLE: json.dumps(steps or {}),
            },
        )
        try:
            while process.poll() is None and time.time() < began + seconds + _LAST:
                verdict.tell_first()
                if time.time() > began + seconds + 1 and not verdict.is_running:
                    break  # thousands that are left out take a while to say so
                time.sleep(0.1)
        finally:
            status = process.poll()
            kill_descendants()
            process.wait()
        verdict.tell_first()
        part = owed_file.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(sorted((set(owed) | verdict.owed) - verdict.passed)))
        part.replace(owed_file)
        if status is None:  # pytest did not come to it
            remember({test: [taken, 0.0, 0.0] for test, taken in verdict.costs.items()})
        is_good = verdict.tell(killed=status is None)
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        return 0
    return status or (0 if is_good else 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
