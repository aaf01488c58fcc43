"""Cells of UltraScale+ by category and by block."""

from pathlib import Path

import pytest

from fpga.blocks import by_instance
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


def test_tally() -> None:
    row = tally({"LUT6": 2, "INV": 1, "RAMB36E2": 1, "RAMB18E2": 3, "RAM32M": 2, "FDRE": 5, "CARRY4": 7})
    assert row == {
        "lut_logic": 3, "lut_memory": 8, "registers": 5, "block_ram": 2.5, "ultra_ram": 0, "dsp": 0,
    }


def test_blocks(tmp_path: Path) -> None:
    """Registers by the instance that they are in, however deep; those of the top by themselves."""
    text = """
        module leaf(input clk, input [2:0] d, output reg [2:0] q); always @(posedge clk) q <= d; endmodule
        module pair(input clk, input [2:0] d, output [2:0] q); wire [2:0] w;
            leaf a(clk, d, w); leaf b(clk, ~w, q); endmodule
        module top(input clk, input [2:0] d, output reg q); wire [2:0] v, w;
            pair deep(clk, d, v); leaf flat(clk, v, w); always @(posedge clk) q <= &w; endmodule
    """
    netlist = tmp_path / "netlist.json"
    total = synthesise(text, top="top", family="xilinx", keep=netlist)
    blocks = {block: tally(counts) for block, counts in by_instance(netlist, top="top").items()}
    assert {block: counts["registers"] for block, counts in blocks.items()} == {"deep": 6, "flat": 3, "other": 1}
    for category, count in tally(total).items():
        assert sum(counts[category] for counts in blocks.values()) == count


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
