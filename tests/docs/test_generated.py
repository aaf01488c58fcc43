"""The generated pages that stand in the tree are those that the sources give."""

from pathlib import Path

import pytest

from firmware_models.abi.__main__ import generated
from firmware_models.host.__main__ import EXAMPLE
from firmware_models.host.page import host_page

ROOT = Path(__file__).resolve().parents[2]
FILES = generated(ROOT / "docs" / "abi.md")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_is_fresh(path: Path) -> None:
    assert path.read_text() == FILES[path], f"{path.relative_to(ROOT)} is stale: run `make docs`"


def test_host_library_is_fresh() -> None:
    assert (ROOT / "docs" / "host.md").read_text() == host_page(EXAMPLE), "docs/host.md is stale: run `make docs`"


def test_no_stray_diagrams() -> None:
    assert set((ROOT / "docs" / "abi").iterdir()) == {path for path in FILES if path.suffix == ".svg"}
