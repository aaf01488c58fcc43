"""A memory's initial values come to the tools whole, in blocks that they read in time."""

import json
import re
from pathlib import Path

import pytest
from amaranth import Module
from amaranth.back import verilog
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from fpga.synthesis import synthesise
from rtl.emit import Boundary, module_verilog
from rtl.initial_blocks import LONGEST, short_initial_blocks


class Store(wiring.Component):
    """A memory of `depth` words that differ, read in the cycle after."""

    def __init__(self, depth: int):
        self.depth = depth
        super().__init__({"address": In(range(depth)), "data": Out(16), "write": In(1), "value": In(16)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = store = memory.Memory(shape=16, depth=self.depth, init=_values(self.depth))
        read, write = store.read_port(), store.write_port()
        m.d.comb += [read.addr.eq(self.address), self.data.eq(read.data), write.addr.eq(self.address),
                     write.en.eq(self.write), write.data.eq(self.value)]
        return m


def _values(depth: int) -> list[int]:
    return [(n * 40503 + 7) % 65536 for n in range(depth)]


def _verilog(depth: int) -> str:
    return verilog.convert(Store(depth), name="store", emit_src=False)


def _blocks(text: str) -> list[list[tuple[int, int]]]:
    """Of each initial block the words, with their values."""
    return [
        [(int(index), int(value, 16)) for index, value in re.findall(r"\[(\d+)\] = \d+'h([0-9a-f]+);", block)]
        for block in re.findall(r"^ *initial begin\n(.*?)^ *end\n", text, re.MULTILINE | re.DOTALL)
    ]


@pytest.mark.parametrize("depth", [2, LONGEST - 1, LONGEST, LONGEST + 1, 2 * LONGEST, 2 * LONGEST + 1])
def test_words_are_all_there(depth: int) -> None:
    text = _verilog(depth)
    assert [len(block) for block in _blocks(text)] == [depth]
    short = short_initial_blocks(text)
    blocks = _blocks(short)
    assert [word for block in blocks for word in block] == list(enumerate(_values(depth)))
    assert [len(block) for block in blocks] == [
        min(LONGEST, depth - first) for first in range(0, depth, LONGEST)
    ]
    assert short_initial_blocks(short) == short


@pytest.mark.parametrize("block", [
    "  initial begin\n    a[0] = 1'h0;\n    if (b)\n      a[1] = 1'h0;\n  end\n",
    "  initial a = 1'h0;\n",
    "  initial begin\n  end\n",
])
def test_other_blocks_stay(block: str) -> None:
    assert short_initial_blocks(block) == block


def test_a_memory_with_an_escaped_name() -> None:
    words = "".join(f"    \\a.b [{n}] = 8'h{n:02x};\n" for n in range(LONGEST + 1))
    short = short_initial_blocks(f"  initial begin\n{words}  end\n")
    assert [len(block) for block in _blocks(short)] == [LONGEST, 1]
    assert short.replace("  end\n  initial begin\n", "") == f"  initial begin\n{words}  end\n"


def test_what_is_synthesised(tmp_path: Path) -> None:
    """Verilog comes out of the project with short blocks; the block RAM of the mapped design holds its words."""
    netlist = tmp_path / "store.json"
    text = module_verilog("store", Boundary(Store(1024)))
    assert [len(block) for block in _blocks(text)] == [LONGEST] * (1024 // LONGEST)
    assert synthesise(text, top="store", keep=netlist)["DP16KD"] == 1
    cells = json.loads(netlist.read_text())["modules"]["store"]["cells"].values()
    parameters = next(cell["parameters"] for cell in cells if cell["type"] == "DP16KD")
    # 64 rows of 16 words; a word takes 20 bits of its row, of which 18 are there, the lowest first.
    rows = [int(parameters[f"INITVAL_{row:02X}"], 2) for row in range(64)]
    assert [rows[n // 16] >> 20 * (n % 16) & 0xFFFFF for n in range(1024)] == _values(1024)
