"""Measured figures are of the presets that there are: a preset that changes makes all figures of it fail."""

import json
import shutil
from pathlib import Path

import pytest

import sim.page.measured as subject
from firmware_models.config import load_preset
from sim.page.measured import FIGURES, record, stale

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "figures"

KNOWN = {"buffer_load", "offload_area", "scale"}
"""Of presets `small` and `paper` as they were before mtu and buffers grew: hours to measure. None may be added."""


def test_no_figure_is_stale() -> None:
    """Those that are known to be are named; one that has been measured again leaves the list."""
    found = dict(stale(FOLDER))
    assert {name: reason for name, reason in found.items() if name not in KNOWN} == {}
    assert KNOWN - set(found) == set(), "measured again: take them off the list"
    assert [name for name, reason in found.items() if "with other values" not in reason] == []


def test_every_file_is_known() -> None:
    """Each file has an entry and a record, and nothing else has."""
    files = {path.stem for path in FOLDER.glob("*.json")} - {"measured"}
    assert set(FIGURES) == files
    assert set(json.loads((FOLDER / "measured.json").read_text())) == files


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The folder, with everything recorded as it is now; its revision is that of the tree."""
    folder = tmp_path / "docs" / "figures"
    shutil.copytree(FOLDER, folder)
    (tmp_path / "rtl").mkdir()
    return folder


def test_a_changed_preset_is_found(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that a figure depends on, and one that it does not."""
    monkeypatch.setattr(subject.subprocess, "run", lambda *_, **__: type("Done", (), {"stdout": "abc1234\n"}))
    record(list(FIGURES), copy)
    assert list(stale(copy)) == []
    changed = load_preset("small").changed(datapath={"mtu": 1024}, cou={"ecc": True})
    monkeypatch.setattr(subject, "load_preset", lambda name: changed if name == "small" else load_preset(name))
    found = dict(stale(copy))
    assert set(found) == {name for name, figure in FIGURES.items()
                          if {"small", "small:datapath.mtu"} & set(figure.depends)}
    assert found["buffer"] == ("was measured with other values of small:cou.buffer_bytes, small:datapath.mtu: "
                               "python -m fpga.buffer_figures docs/figures/buffer.json")


def test_a_file_that_was_not_recorded_is_found(copy: Path) -> None:
    with (copy / "switch.json").open("a") as file:
        file.write(" ")
    assert dict(stale(copy))["switch"] == "its file is another one than recorded: python -m sim.page.measured switch"
