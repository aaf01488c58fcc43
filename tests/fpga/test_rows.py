"""Files of rows that may be measured again one by one."""

import json
from pathlib import Path

import pytest

from fpga.rows import replace_rows


def test_rows_are_replaced_in_order(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    order = ("a", "b", "c")
    replace_rows(file, [{"name": "c", "value": 1}, {"name": "a", "value": 2}], key="name", order=order)
    replace_rows(file, [{"name": "c", "value": 3}, {"name": "z", "value": 4}], key="name", order=order)
    assert json.loads(file.read_text()) == [{"name": "a", "value": 2}, {"name": "c", "value": 3}]


def test_rows_are_kept_if_the_next_one_fails(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    rows = ({"name": name, "value": 1 / divisor} for name, divisor in (("a", 1), ("b", 0)))
    with pytest.raises(ZeroDivisionError):
        replace_rows(file, rows, key="name", order=("a", "b"))
    assert json.loads(file.read_text()) == [{"name": "a", "value": 1.0}]
