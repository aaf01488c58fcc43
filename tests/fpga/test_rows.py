"""Files of rows that may be measured again one by one."""

import json
from pathlib import Path

import pytest

from fpga.board_figures import read_report, row_of
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


def test_row_of_a_board(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"is not there: `make bitstream BOARD=versa_ecp5_5g` makes it$"):
        read_report(tmp_path, "versa_ecp5_5g")
    (tmp_path / "versa_ecp5_5g").mkdir()
    clocks = {"slow": {"fmax_mhz": 300.0, "required_mhz": 12.0}, "fast": {"fmax_mhz": 70.0, "required_mhz": 50.0}}
    report = {
        "board": "versa_ecp5_5g", "seed": 1, "clocks": clocks, "timing_met": True, "critical_path": {},
        "utilisation": {"cells": {"lut4": 3}, "device": {}, "blocks": {}},
    }
    (tmp_path / "versa_ecp5_5g" / "conic_selftest.report.json").write_text(json.dumps(report))
    row = row_of(read_report(tmp_path, "versa_ecp5_5g"), {2: 71.0, 3: 69.5})
    assert (row["fmax_mhz"], row["required_mhz"], row["n_nics"], row["speed"]) == (70.0, 50.0, 1, 8)
    assert row["cells"] == {"lut4": 3}
    assert row["fmax_mhz_by_seed"] == {"1": 70.0, "2": 71.0, "3": 69.5}
