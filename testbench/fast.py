"""The tests that a change touches, the most direct ones first, within a few minutes: ``python -m testbench.fast``.

A test is touched by a file if its imports lead there: those of the test itself, of the ``conftest.py`` files above it,
and of the benches that it names. A file that is no module touches the tests of its folder (``docs/``), or, where it
stands beside modules, what these modules touch.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from testbench.imports import ROOMS, ROOT, distances, graph, module_of, named_in
from testbench.toolchain import build_folder

SECONDS = 170
"""No test begins that is not likely to end before that."""
_unknown_cost = 20.0
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
    """Wall time of each test when it last ran."""
    return build_folder() / "test-costs.json"


class Deadline:
    """A plugin of pytest: the nearest tests first, of these the cheap ones; leaves out what would not end in time."""

    def __init__(self, end: float, costs: dict[str, float], steps: dict[str, int]):
        self._end = end
        self._costs = costs
        self._steps = steps

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Puts them in order; it is the same in every worker."""
        items.sort(key=lambda item: (
            self._steps.get(item.nodeid.partition("::")[0], 99), self._costs.get(item.nodeid, _unknown_cost),
        ))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skips a test that is likely to take longer than there is time."""
        if time.time() + self._costs.get(item.nodeid, _unknown_cost) > self._end:
            pytest.skip("left out: no time")


def pytest_configure(config: pytest.Config) -> None:
    """With CONIC_FAST_END in the environment, this module is a plugin of every worker."""
    if end := os.environ.get("CONIC_FAST_END"):
        path = costs_file()
        known = json.loads(path.read_text()) if path.exists() else {}
        steps = json.loads(os.environ.get("CONIC_FAST_STEPS", "{}"))
        config.pluginmanager.register(Deadline(float(end), known, steps))


def main(arguments: list[str]) -> int:
    """Runs the tests; the exit status is pytest's."""
    began = time.time()
    files = changed_files(since=arguments[0] if arguments else None)
    tests = touched_tests(files)
    print(f"{len(files)} files changed; {len(tests)} test files lead to them"
          + "".join(f"\n  {steps} {test}" for test, steps in tests.items()))
    if not tests:
        return 0
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "load", "--maxschedchunk", "1",
               "-m", "not long", "-p", "testbench.fast", *map(str, tests)]
    status = subprocess.run(
        command, cwd=ROOT, check=False,
        env=os.environ | {"CONIC_SKIP_PASSED": "1", "CONIC_FAST_END": str(began + SECONDS),
                          "CONIC_FAST_STEPS": json.dumps({str(test): steps for test, steps in tests.items()})},
    ).returncode
    return 0 if status == pytest.ExitCode.NO_TESTS_COLLECTED else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
