"""Block RAMs that are fixed: where, and that the device has these places."""

import json
import re
from pathlib import Path

import pytest

from fpga.bitstream import board_part
from fpga.board import BOARDS
from fpga.floorplan import BLOCK_RAMS, HALVES, gather
from fpga.place import Part, nextpnr


def write(path: Path, names: list[str]) -> Path:
    """A netlist of block RAMs that nothing is connected to."""
    ram = {"type": "DP16KD", "hide_name": 0, "parameters": {}, "port_directions": {}, "connections": {}}
    cells = {name: ram | {"attributes": {}} for name in names}
    module = {"attributes": {"top": "1"}, "ports": {}, "cells": cells, "netnames": {}}
    path.write_text(json.dumps({"modules": {"top": module}}))
    return path


def test_halves(tmp_path: Path) -> None:
    names = [f"a.memory_{n}.{k}" for n in (0, 1) for k in range(16)]
    netlist = write(tmp_path / "netlist.json", [*names, "a.memory_10.0", "a.other"])
    fixed = gather(netlist, top="top", device="85k", blocks={f"a.memory_{n}": HALVES["85k"][n] for n in (0, 1)})
    assert sorted(fixed) == sorted(names)
    assert len(set(fixed.values())) == 32
    cells = json.loads(netlist.read_text())["modules"]["top"]["cells"]
    assert {name: cell["attributes"]["BEL"] for name, cell in cells.items() if cell["attributes"]} == fixed
    columns = {name: int(site.partition("/")[0][1:]) for name, site in fixed.items()}
    assert max(columns[name] for name in names[:16]) < min(columns[name] for name in names[16:])


def test_every_nic_of_a_board_has_a_place() -> None:
    for board in BOARDS.values():
        assert board.n_nics == 1 or board.n_nics == len(HALVES[board_part(board).die])


def test_refusals(tmp_path: Path) -> None:
    netlist = write(tmp_path / "netlist.json", [f"a.{k}" for k in range(209)])
    before = netlist.read_text()
    for device, blocks, message in [
        ("45k", {"a": (0, 0)}, "^device must be one of 85k, not '45k'$"),
        ("85k", {"b": (0, 0)}, "^block must have block RAM, and 'b' has none$"),
        ("85k", {"a": (0, 0)}, "^block must fit the 85k, and 'a' has 209 block RAMs$"),
    ]:
        with pytest.raises(ValueError, match=message):
            gather(netlist, top="top", device=device, blocks=blocks)
    assert netlist.read_text() == before


@pytest.mark.parametrize("device", ["85k", "um5g-85k"])
def test_the_device_has_these_places(device: str, tmp_path: Path) -> None:
    """A block RAM on each of them, and no other is left."""
    part = Part(device=device, package="CABGA381")
    sites = BLOCK_RAMS[part.die]
    netlist = write(tmp_path / "netlist.json", [f"a.{k}" for k in range(len(sites))])
    gather(netlist, top="top", device=part.die, blocks={"a": (0, 0)})
    log = nextpnr(netlist, part, 1, "--no-route")
    assert f"Placed {len(sites)} cells based on constraints" in log
    assert re.search(rf"DP16KD: *{len(sites)}/ *{len(sites)} ", log)
