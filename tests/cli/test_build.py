"""`conic build`: what it says of a bitstream. The bitstreams themselves are built in the long tests."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fpga.bitstream import Bitstream
from fpga.board import Board
from sim.cli.command import build

CELLS = {"lut4": 39794, "carry": 4368, "lut_ram": 2142, "ff": 35719, "block_ram": 109, "dsp": 4}


@pytest.fixture(params=[50.0, 49.99], ids=["met", "missed"])
def built(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A board whose clock is just as fast as it must be, or not; and what was asked for."""
    asked: dict[str, Any] = {"met": request.param >= 50}

    def build_bitstream(board: Board, folder: Path, *, seed: int, progress: Any) -> Bitstream:
        asked.update(board=board.name, folder=folder, seed=seed)
        progress("pack", 4, 4)
        return Bitstream(
            board=board.name, bitstream=folder / "conic_selftest.bit", seed=seed,
            clocks={"clk": {"fmax_mhz": request.param, "required_mhz": 50.0}},
            critical_path={"from": "a.b", "to": "c.d", "delay_ns": 20.004}, cells=CELLS, device={"TRELLIS_FF": 35719},
            blocks={"selftest.nic_0.cou_0": CELLS},
        )

    monkeypatch.setattr(build, "build_bitstream", build_bitstream)
    return asked


def test_tables(built: dict[str, Any], conic: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    result = conic("build", "ecpix5_85f", "--seed", "3")
    assert result.code == (0 if built["met"] else 1)
    assert (built["board"], built["seed"], built["folder"]) == ("ecpix5_85f", 3, Path("build/fpga/ecpix5_85f"))
    for words in ("ecpix5_85f, seed 3", "39,794", "35,719 TRELLIS_FF", "selftest.nic_0.cou_0", "conic_selftest.bit"):
        assert words in result.out
    assert "slowest path: 20.00 ns from a.b to c.d" in " ".join(result.out.split())
    missed = "conic build: clock clk reaches 49.99 MHz, not 50.0 MHz\n"
    assert (missed in result.err) != built["met"]


def test_json(built: dict[str, Any], conic: Callable[..., Any]) -> None:
    result = conic("build", "versa-ecp5-5g", "--json")
    assert result.code == (0 if built["met"] else 1)
    said = json.loads(result.out)
    assert (said["board"], said["timing_met"], said["utilisation"]["cells"]) == ("versa_ecp5_5g", built["met"], CELLS)


def test_no_such_board(conic: Callable[..., Any]) -> None:
    result = conic("build", "ulx4m")
    assert result.code == 2
    assert "board must be one of ulx3s_85f, ecpix5_85f, versa_ecp5_5g, not 'ulx4m'" in result.err
