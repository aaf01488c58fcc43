"""Spare address bits of tables: every word is found where it was written, and what is there at first stays."""

import json
from pathlib import Path
from typing import Any

import pytest

from fpga.addresses import tie_spare_bits
from fpga.synthesis import synthesise

WORD_BITS = 4


def design(depth: int) -> str:
    bits = (depth - 1).bit_length()
    words = " ".join(f"store[{place}] = 8'd{37 * place % 251};" for place in range(depth))
    return f"""
    module top(input clk, input write, input [{bits - 1}:0] a, b, input [7:0] d, output reg [7:0] q);
      reg [7:0] store [{depth - 1}:0];
      initial begin {words} end
      always @(posedge clk) begin
        if (write) store[a] <= d;
        q <= store[b];
      end
    endmodule
    """


def tables_of(netlist: Path) -> list[dict[str, Any]]:
    cells = json.loads(netlist.read_text())["modules"]["top"]["cells"]
    return [cell for cell in cells.values() if cell["type"] == "TRELLIS_DPR16X4"]


def place(address: list[Any], nets: list[int], value: int) -> int:
    """Where a table finds a word if its nets have the bits of a value."""
    bits = [(value >> nets.index(net)) & 1 if isinstance(net, int) else int(net) for net in address]
    return sum(bit << number for number, bit in enumerate(bits))


@pytest.mark.parametrize("depth", [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31])
def test_words_are_found_and_first_ones_are_the_same(tmp_path: Path, depth: int) -> None:
    netlist = tmp_path / "netlist.json"
    synthesise(design(depth), top="top", keep=netlist)
    before = tables_of(netlist)
    spare = sum(table["connections"][port].count("0") for table in before for port in ("RAD", "WAD"))
    assert before
    assert bool(spare) == (depth <= 8)
    assert tie_spare_bits(netlist, top="top") == spare
    for old, new in zip(before, tables_of(netlist), strict=True):
        reads = [net for net in old["connections"]["RAD"] if isinstance(net, int)]
        writes = [net for net in old["connections"]["WAD"] if isinstance(net, int)]
        values = range(1 << len(reads))
        found = [place(new["connections"]["RAD"], reads, value) for value in values]
        assert len(set(found)) == len(values)
        assert found == [place(new["connections"]["WAD"], writes, value) for value in values]
        assert "0" not in new["connections"]["RAD"] + new["connections"]["WAD"]
        for value, there in zip(values, found, strict=True):
            first = place(old["connections"]["RAD"], reads, value)
            assert word(new, there) == word(old, first)


def word(table: dict[str, Any], address: int) -> str:
    """Initial content of a table at an address."""
    words = table["parameters"]["INITVAL"]
    end = len(words) - WORD_BITS * address
    return str(words[end - WORD_BITS:end])


def test_a_second_time_nothing_is_tied(tmp_path: Path) -> None:
    netlist = tmp_path / "netlist.json"
    synthesise(design(4), top="top", keep=netlist)
    assert tie_spare_bits(netlist, top="top")
    tied = netlist.read_text()
    assert tie_spare_bits(netlist, top="top") == 0
    assert netlist.read_text() == tied
