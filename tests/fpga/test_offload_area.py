"""Cells of UltraScale+ by category and by block."""

import pytest

from fpga.offload_area import tally, weigh
from fpga.synthesis import synthesise

MEMORY = """module top(input clk, input we, input [4:0] a, input [7:0] d, output reg [7:0] q);
    reg [7:0] m [0:31];
    always @(posedge clk) begin if (we) m[a] <= d; q <= m[a] ^ d; end
endmodule"""


@pytest.mark.parametrize(("kind", "counted"), [
    ("LUT6", ("lut_logic", 1)), ("RAM64M8", ("lut_memory", 8)), ("RAM32M", ("lut_memory", 4)),
    ("SRL16E", ("lut_memory", 1)), ("FDRE", ("registers", 1)), ("RAMB18E2", ("block_ram", 0.5)),
    ("URAM288", ("ultra_ram", 1)), ("DSP48E2", ("dsp", 1)), ("CARRY4", None), ("MUXF7", None),
])
def test_weights(kind: str, counted: tuple[str, float] | None) -> None:
    assert weigh(kind) == counted


def test_blocks() -> None:
    cells = [
        ("a.x", "LUT6"), ("a.y.z", "LUT2"), ("b.x", "RAMB36E2"), ("b.y", "RAMB18E2"), ("c", "FDRE"), ("a.c", "CARRY4"),
    ]
    rows = tally(cells, depth=1)
    assert rows["a"]["lut_logic"] == 2
    assert rows["b"]["block_ram"] == 1.5
    assert rows["other"]["registers"] == 1
    assert set(rows) == {"a", "b", "other"}


def test_every_cell_that_yosys_makes_of_a_memory_is_known() -> None:
    cells = synthesise(MEMORY, top="top", family="xilinx")
    assert sum(count for kind, count in cells.items() if weigh(kind) == ("registers", 1)) == 8
    assert any(weigh(kind) is not None and weigh(kind)[0] == "lut_memory" for kind in cells)  # type: ignore[index]


@pytest.mark.parametrize(("bits", "kind"), [(8, "RAM256X1S"), (9, "RAM512X1S"), (12, "RAM512X1S")])
def test_a_memory_with_one_port_is_made_of_tables(bits: int, kind: str) -> None:
    text = f"""module top(input clk, input we, input [{bits - 1}:0] a, input [1:0] d, output [1:0] q);
        reg [1:0] m [0:{2**bits - 1}];
        assign q = m[a];
        always @(posedge clk) if (we) m[a] <= d;
    endmodule"""
    cells = synthesise(text, top="top", family="xilinx")
    assert cells[kind] == 2 * max(1, 2**bits // 512)
