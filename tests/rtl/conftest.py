"""Planted errors of the benches of parts: one of each bench in every run, all of them in `make test-long`."""

from pathlib import Path

import pytest

_FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks all but the first planted error of a file as long."""
    seen = set()
    for item in items:
        function = getattr(item, "originalname", item.name)
        if not item.path.is_relative_to(_FOLDER) or not function.startswith("test_planted"):
            continue
        if item.path in seen:
            item.add_marker(pytest.mark.long)
        seen.add(item.path)
