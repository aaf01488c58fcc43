"""Splitting nets: no driver has too many loads, and the design is the same."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fpga.fanout import LEAST, split
from fpga.synthesis import synthesise

WHOLE = ("LSR", "RAD", "WAD", "WRE")

TOP = """
module top(input clk, input rst, input [2:0] a, input [99:0] d, output reg [99:0] q, output reg [69:0] p,
           output reg [59:0] r, output reg z);
  reg armed;
  reg [3:0] place;
  reg [59:0] table_memory [15:0];
  always @(posedge clk) begin
    armed <= a[0] ^ armed;
    z <= armed;
    place <= d[3:0];
    if (armed ^ a[1]) table_memory[place] <= d[59:0];
    r <= table_memory[place];
    if (a[1] ^ a[2]) p <= d[69:0];
    if (rst) q <= 0; else if (armed & a[1] & a[2]) q <= d;
  end
endmodule
"""

Cells = dict[str, dict[str, Any]]


@pytest.fixture
def netlist(tmp_path: Path) -> Path:
    path = tmp_path / "netlist.json"
    synthesise(TOP, top="top", keep=path)
    return path


def cells_of(netlist: Path) -> Cells:
    cells: Cells = json.loads(netlist.read_text())["modules"]["top"]["cells"]
    return cells


def fanouts(cells: Cells) -> Counter[int]:
    """Loads of the nets that look-up tables and registers drive, but for those that stay whole."""
    driven = {cell["connections"][port][0] for cell in cells.values() for port in ("Z", "Q")
              if cell["type"] in ("LUT4", "TRELLIS_FF") and port in cell["connections"]}
    return Counter(
        bit for cell in cells.values() for port, bits in cell["connections"].items() for bit in bits
        if cell["port_directions"][port] == "input" and port not in WHOLE and bit in driven
    )


def without_copies(cells: Cells) -> Cells:
    """Takes every copy out again, and asserts that it is one: the same cell with the same inputs."""
    original = {}
    for name, cell in cells.items():
        source = cells[name.split("$fanout$")[0]]
        assert cell["type"] == source["type"]
        assert cell["parameters"] == source["parameters"]
        for port in ("Z", "Q"):
            if port in cell["connections"] and source is not cell:
                original[cell["connections"][port][0]] = source["connections"][port][0]
    back = {
        name: cell | {"connections": {
            port: [original.get(bit, bit) for bit in bits] for port, bits in cell["connections"].items()
        }}
        for name, cell in cells.items()
    }
    for name, cell in back.items():
        assert cell["connections"] == back[name.split("$fanout$")[0]]["connections"], name
    return {name: cell for name, cell in back.items() if "$fanout$" not in name}


@pytest.mark.parametrize("max_fanout", [LEAST, 9, 48, 49, 50, 51, 99, 100, 101])
def test_no_net_is_too_wide_and_the_design_is_the_same(netlist: Path, max_fanout: int) -> None:
    before = cells_of(netlist)
    assert max(fanouts(before).values()) == 100
    copies = split(netlist, top="top", max_fanout=max_fanout)
    after = cells_of(netlist)
    assert max(fanouts(after).values()) <= max_fanout
    assert len(after) - len(before) == copies
    assert (copies == 0) == (max_fanout >= 100)
    assert without_copies(after) == before
    assert split(netlist, top="top", max_fanout=max_fanout) == 0


def test_drivers_of_copies_are_copied(netlist: Path) -> None:
    split(netlist, top="top", max_fanout=LEAST)
    kinds = Counter(cell["type"] for name, cell in cells_of(netlist).items() if "$fanout$" in name)
    # 100 enables: 13 tables, and 9 for 70. The first, the register's own input and `z` are 15 loads: two registers.
    assert kinds == {"LUT4": 12 + 8, "TRELLIS_FF": 1}


def test_resets_and_addresses_of_tables_stay_whole(netlist: Path) -> None:
    split(netlist, top="top", max_fanout=LEAST)
    cells = cells_of(netlist).values()
    tables = [cell["connections"] for cell in cells if cell["type"] == "TRELLIS_DPR16X4"]
    assert len(tables) == 15
    assert {port: {tuple(table[port]) for table in tables} for port in WHOLE[1:]} == {
        port: {tuple(tables[0][port])} for port in WHOLE[1:]
    }
    resets = {cell["connections"]["LSR"][0] for cell in cells if "LSR" in cell["connections"]}
    assert len({bit for bit in resets if isinstance(bit, int)}) == 1


def test_bits_of_a_register_stay_together(netlist: Path) -> None:
    split(netlist, top="top", max_fanout=50)
    groups: dict[int, list[int]] = {}
    for name, cell in cells_of(netlist).items():
        if cell["type"] == "TRELLIS_FF" and name.startswith("q_"):
            number = int(name.rpartition("_")[2]) if name[-1].isdigit() else 0
            groups.setdefault(cell["connections"]["CE"][0], []).append(number)
    assert sorted(sorted(group) for group in groups.values()) == [list(range(50)), list(range(50, 100))]


def test_limits_without_an_end_are_refused(netlist: Path) -> None:
    with pytest.raises(ValueError, match="max_fanout must be 8 or more, not 7"):
        split(netlist, top="top", max_fanout=LEAST - 1)
