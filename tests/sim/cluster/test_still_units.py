"""What tells that an edge has changed nothing in an offload unit, in the code that Verilator writes."""

import pytest

from sim.cluster.still_units import WRITTEN, UnknownCodeError, comparison, noting_writes, with_note

HEADER = """class Vunit___024root final {
    struct {
        VL_IN8(arm,0,0);
        CData/*0:0*/ busy;
        VlWide<9>/*256:0*/ word;
        VlUnpacked<QData/*43:0*/, 15> core__DOT__store;
        VlUnpacked<QData/*43:0*/, 2> core__DOT__store_2;
        VlUnpacked<QData/*63:0*/, 1> __VactTriggered;
    };

    // INTERNAL VARIABLES
    Vunit__Syms* vlSymsp;
};
"""
CODE = """void Vunit___024root___nba(Vunit___024root* vlSelf) {
    vlSelfRef.busy = vlSelfRef.core__DOT__store[3U];
    if (vlSelfRef.arm) {
        if (__VdlySet__core__DOT__store__v0) {
            vlSelfRef.core__DOT__store[__VdlyDim0__v0] = 1U;
        }
    }
    if (vlSelfRef.__VdlySet__core__DOT__store_2__v0) {
        vlSelfRef.core__DOT__store_2[__VdlyDim0__v0]
            = 1U;
    }
}
"""
PARTS = "    Vunit___024root  TOP;\n    Vlane TOP__lane_0;\n    Vlane TOP__lane_1;\n"


def test_each_write_is_noted() -> None:
    """In its own block, and nowhere else."""
    note = f"vlSelfRef.{WRITTEN} = true;"
    lines = [line.strip() for line in noting_writes(CODE, HEADER).splitlines()]
    assert [lines[place + 1] for place, line in enumerate(lines) if "__VdlySet" in line] == [note, note]
    assert lines.count(note) == 2
    assert [line for line in lines if line != note] == [line.strip() for line in CODE.splitlines()]


def test_a_write_without_condition_is_refused() -> None:
    """It would not be noted: a unit that counts in a memory would be taken for still."""
    with pytest.raises(UnknownCodeError, match="core__DOT__store without a condition"):
        noting_writes(CODE + "    vlSelfRef.core__DOT__store[0U] = 1U;\n", HEADER)


def test_the_note_is_a_member() -> None:
    """Behind all that Verilator has written."""
    lines = [line.strip() for line in with_note(HEADER).splitlines()]
    assert lines[lines.index("// INTERNAL VARIABLES") + 1] == f"bool {WRITTEN} = false;"
    with pytest.raises(UnknownCodeError, match="internal variables"):
        with_note("class Vunit___024root final {};\n")


def test_registers_and_parts_are_compared() -> None:
    """From the class's begin to its first memory, and from the first part to the end of the last."""
    text = comparison(HEADER, PARTS)
    assert "(rootp), reinterpret_cast<const char*>(&rootp->core__DOT__store)}" in text
    assert "(&rootp->vlSymsp->TOP__lane_0), reinterpret_cast<const char*>(&rootp->vlSymsp->TOP__lane_1 + 1)}" in text
    assert "TOP" not in comparison(HEADER, "    Vunit___024root  TOP;\n")


@pytest.mark.parametrize("header", [
    HEADER.replace("    };", "        CData/*0:0*/ late;\n    };"),
    HEADER.replace("VlUnpacked", "VlOther"),
])
def test_registers_behind_memories_are_refused(header: str) -> None:
    """They would not be compared."""
    with pytest.raises(UnknownCodeError, match="do not stand before its memories"):
        comparison(header, PARTS)
