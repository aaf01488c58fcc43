"""Offload units that stand apart: what tells that an edge has changed nothing in one of them.

A unit waits most of the time: for a packet, an operand, a credit, its turn. It is not at rest then, for what it has to
do is not done, but at most edges nothing in it changes. If no register and no memory has changed at an edge, none will
at the next one, until an input changes.
"""

import re
from collections.abc import Sequence

UNSEEN = (
    "port__descriptor__payload", "port__probe__payload", "read__data__payload", "rx__0__payload__payload",
    "rx__1__payload__payload", "window__answer__payload", "write__done__payload",
)
"""Payloads that a unit does not look at while their `valid` is low: no register, no memory and no output follows them
then (``testbench.formal.stability.unseen`` proves it). With those of the other streams a memory is read whose answer
nobody takes."""
WRITTEN = "conicWritten"
"""Member of a unit that is set at every write to one of its memories."""
_WRITE = re.compile(r"^( *)if \((?:vlSelfRef\.)?__VdlySet__\w+\) \{\n.*?^\1\}\n", re.MULTILINE | re.DOTALL)
_SCALAR = re.compile(r"^ +(?:VL_(?:IN|OUT)\w*\(|(?:[CSIQ]Data|VlWide<\d+>)/)", re.MULTILINE)
_MEMORY = re.compile(r"^ +VlUnpacked<.*> (\w+);$", re.MULTILINE)
_PART = re.compile(r"^    \w+ (TOP__\w+);$", re.MULTILINE)
_OWN = "__V"
"""What Verilator's own members begin with."""


class UnknownCodeError(ValueError):
    """Verilator has written something else than this version of it does."""


def with_note(header: str) -> str:
    """The header of a unit's class, with the member that notes writes."""
    known = "    // INTERNAL VARIABLES\n"
    if header.count(known) != 1:
        raise UnknownCodeError("no internal variables in the unit's header")
    return header.replace(known, f"{known}    bool {WRITTEN} = false;\n")


def noting_writes(code: str, header: str) -> str:
    """A unit's code, with a note at every write to a memory.

    Parameters
    ----------
    code : str
        A file of what is carried out at edges.
    header : str
        That of the unit's class, which names the memories.

    Raises
    ------
    UnknownCodeError
        If a memory is written in another way than behind a condition of its own.
    """
    noted = _WRITE.sub(
        lambda write: write[0].replace("{\n", f"{{\n{write[1]}    vlSelfRef.{WRITTEN} = true;\n", 1), code,
    )
    left = _WRITE.sub("", code)
    for memory in _memories(header):
        if re.search(rf"^ *(?:vlSelfRef\.)?{memory}\[", left, re.MULTILINE):
            raise UnknownCodeError(f"a write to {memory} without a condition")
    return noted


def comparison(header: str, symbols: str) -> str:
    """Members of the wrapper that take a unit's registers before an edge, and compare them after it.

    Parameters
    ----------
    header : str
        That of the unit's class. All but the memories is compared: inputs, and what follows from them and from
        registers, stand among the registers.
    symbols : str
        The header that holds the unit and its parts, one behind the other.

    Raises
    ------
    UnknownCodeError
        If members of the class stand behind memories.
    """
    memories = _memories(header)
    if not memories or _SCALAR.search(header, header.index(f" {memories[0]};")):
        raise UnknownCodeError("registers of the unit do not stand before its memories")
    regions = [("rootp", f"&rootp->{memories[0]}")]
    parts = _PART.findall(symbols)
    if parts:
        regions.append((f"&rootp->vlSymsp->{parts[0]}", f"&rootp->vlSymsp->{parts[-1]} + 1"))
    return f"""
    // Registers before an edge; each pair is begin and end of some.
    std::vector<char> before;
    std::array<std::pair<const char*, const char*>, {len(regions)}> registers() const {{
        return {{{{{_pairs(regions)}}}}};
    }}
    void keep_registers() {{
        rootp->{WRITTEN} = false;
        before.clear();
        for (const auto& [begin, end] : registers()) before.insert(before.end(), begin, end);
    }}
    bool has_changed() const {{
        size_t at = 0;
        for (const auto& [begin, end] : registers()) {{
            if (std::memcmp(before.data() + at, begin, end - begin)) return true;
            at += end - begin;
        }}
        return rootp->{WRITTEN};
    }}
"""


def _pairs(regions: Sequence[tuple[str, str]]) -> str:
    return ", ".join(
        f"{{reinterpret_cast<const char*>({begin}), reinterpret_cast<const char*>({end})}}" for begin, end in regions
    )


def _memories(header: str) -> list[str]:
    return [name for name in _MEMORY.findall(header) if not name.startswith(_OWN)]
