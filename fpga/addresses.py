"""Addresses of tables that are memory and hold less than they could.

Yosys ties an address bit that a shallow memory does not need to zero. nextpnr then routes one net of zeros to every
such bit of every table, across the whole device, where wires are scarce. With the bit tied to another bit of the same
address, what is written is still found, and its net is there already.
"""

import json
from pathlib import Path
from typing import Any

_TABLE = "TRELLIS_DPR16X4"
_WORD_BITS = 4


def tie_spare_bits(netlist: Path, *, top: str) -> int:
    """Ties spare address bits of tables to the first bit that is used, in the netlist itself.

    Parameters
    ----------
    netlist : Path
        JSON netlist of :func:`fpga.synthesis.synthesise` for ECP5.
    top : str
        Its module.

    Returns
    -------
    int
        How many bits of addresses to be written and to be read have been tied.
    """
    design = json.loads(netlist.read_text())
    tied = sum(_tie(cell) for cell in design["modules"][top]["cells"].values() if cell["type"] == _TABLE)
    netlist.write_text(json.dumps(design))
    return tied


def _tie(cell: dict[str, Any]) -> int:
    """Ties the spare bits of one table: those that are zero for what is written and for what is read."""
    written, read = cell["connections"]["WAD"], cell["connections"]["RAD"]
    spare = [bit for bit in range(len(read)) if written[bit] == read[bit] == "0"]
    used = [bit for bit in range(len(read)) if isinstance(written[bit], int) and isinstance(read[bit], int)]
    if not used:
        return 0
    for bit in spare:
        written[bit], read[bit] = written[used[0]], read[used[0]]
    words = cell["parameters"].get("INITVAL")
    if words is not None:
        cell["parameters"]["INITVAL"] = _spread(words, sum(1 << bit for bit in spare))
    return 2 * len(spare)


def _spread(words: str, spare: int) -> str:
    """Initial content of the table: each address holds the word that was at that one without its spare bits."""
    count = len(words) // _WORD_BITS
    word = [words[len(words) - _WORD_BITS * (place + 1):][:_WORD_BITS] for place in range(count)]
    return "".join(word[place & ~spare] for place in reversed(range(count)))
