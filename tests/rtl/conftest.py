"""Planted errors of the benches of parts, and their seeds: one of each in every run, all in `make test-long`."""

from pathlib import Path

import pytest

_FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks as long all but the first planted error of a file, and of tests that differ by seed alone."""
    seen, seeded = set(), set()
    for item in items:
        function = getattr(item, "originalname", item.name)
        if not item.path.is_relative_to(_FOLDER):
            continue
        if (case := getattr(item, "callspec", None)) is not None and "seed" in case.params:
            rest = repr(sorted((name, value) for name, value in case.params.items() if name != "seed"))
            if (item.path, function, rest) in seeded:
                item.add_marker(pytest.mark.long)
            seeded.add((item.path, function, rest))
        if not function.startswith("test_planted"):
            continue
        if item.path in seen:
            item.add_marker(pytest.mark.long)
        seen.add(item.path)
