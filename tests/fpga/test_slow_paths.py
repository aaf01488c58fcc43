"""Where slow paths begin: paths whose length is known, cell by cell."""

import json
from pathlib import Path

import pytest

from fpga.slow_paths import slow_paths
from fpga.synthesis import synthesise

TOP = """
module top(input clk, input [3:0] d, input [31:0] n, output reg near, output reg [31:0] far, output reg many);
  (* keep *) reg [3:0] few;
  (* keep *) reg [31:0] sum;
  always @(posedge clk) begin
    few <= d;
    near <= ^few;
    sum <= n;
    far <= sum + {n[15:0], n[31:16]};
    many <= ^sum;
  end
endmodule
"""


@pytest.fixture
def netlist(tmp_path: Path) -> Path:
    path = tmp_path / "netlist.json"
    synthesise(TOP, top="top", keep=path)
    return path


def test_lengths(netlist: Path) -> None:
    """Clock to register 0.52 ns, a table 0.23 ns, a wire as long as is said; carries as fast as they are."""
    found = {family.begin: family for family in slow_paths(netlist, top="top", longer_than=2.0, wire=0.5)}
    assert set(found) == {"sum"}
    # 32 bits in four: three tables behind each other, wires in between and at both ends.
    assert found["sum"].levels >= 3
    quick = {family.begin: family for family in slow_paths(netlist, top="top", longer_than=1.0, wire=0.0)}
    assert quick["sum"].slowest == pytest.approx(0.52 + 0.45 + 14 * 0.06 + 0.44)
    assert quick["sum"].end.startswith("far")
    assert quick["sum"].levels == 16


def test_one_table(netlist: Path) -> None:
    """A single table between two registers."""
    found = slow_paths(netlist, top="top", longer_than=0, wire=1.0)
    ends = {family.begin: family for family in found}
    assert ends["few"].paths == 1
    assert ends["few"].slowest == pytest.approx(0.52 + 1 + 0.23 + 1)
    assert sum(family.paths for family in found) > len(found)


def test_what_is_quick_is_left_out(netlist: Path) -> None:
    assert slow_paths(netlist, top="top", longer_than=99) == []
    every = slow_paths(netlist, top="top", longer_than=0)
    some = slow_paths(netlist, top="top", longer_than=max(family.slowest for family in every) - 1e-9)
    assert [family.paths for family in some] == [1]


def test_loops(tmp_path: Path) -> None:
    """A table that feeds itself."""
    cell = {
        "type": "LUT4", "port_directions": {"A": "input", "Z": "output"}, "connections": {"A": [2], "Z": [2]},
    }
    path = tmp_path / "loop.json"
    path.write_text(json.dumps({"modules": {"top": {"cells": {"a": cell}, "netnames": {}}}}))
    with pytest.raises(ValueError, match="no register"):
        slow_paths(path, top="top", longer_than=0)
