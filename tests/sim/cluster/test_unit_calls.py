"""Calls of offload units that stand apart, in the code that Verilator writes for a NIC."""

import pytest

from rtl.nic.nic import SHARED_UNIT
from sim.cluster.still_units import UnknownCodeError
from sim.cluster.unit_calls import direct_calls

NAME = f"VNic_unit____Vdpiimwrap_{SHARED_UNIT}_protectlib_"
COMBO = (
    f"void {NAME}combo_update_TOP__cou_0(QData/*63:0*/ handle, CData/*0:0*/ arm, VlWide<9>/*256:0*/ word, "
    "CData/*0:0*/ &busy, QData/*63:0*/ &number) {\n    // Body\n    if (arm) {\n        busy = 0;\n    }\n}\n"
)
IGNORE = f"void {NAME}combo_ignore_TOP__cou_0(QData/*63:0*/ handle, CData/*0:0*/ arm) {{\n    svLogic arm__Vcvt;\n}}\n"
EDGE = (
    f"void {NAME}seq_update_TOP__cou_0(QData/*63:0*/ handle, CData/*0:0*/ clk, VlWide<9>/*256:0*/ &word, "
    "QData/*63:0*/ &number) {\n    VL_ZERO_W(257, word);\n}\n"
)
OTHER = "void VNic___024root___nba(VNic___024root* vlSelf) {\n    if (vlSelf->clk) {\n    }\n}\n"


def test_values_are_copied() -> None:
    """Inputs before the unit is evaluated, outputs after it; the rest of the file stays."""
    code, defined = direct_calls(OTHER + COMBO + EDGE + IGNORE + OTHER)
    assert code.startswith(OTHER)
    assert code.endswith(f"(QData/*63:0*/ handle, CData/*0:0*/ arm) {{\n}}\n{OTHER}")
    assert code.count("    conic_unit_combo_update(handle, arm, word, busy, number);\n}\n") == 1
    assert code.count("    conic_unit_seq_update(handle, clk, word, number);\n}\n") == 1
    assert "Vcvt" not in code
    combo, edge = defined.split("\n\n")
    lines = [line.strip() for line in combo.splitlines()]
    assert lines[0] == (
        "void conic_unit_combo_update(const QData& handle, const CData& arm, const VlWide<9>& word, CData& busy, "
        "QData& number) {"
    )
    assert lines[2:] == [
        "unit->arm = arm;", "unit->word = word;", "unit->eval();", "busy = unit->busy;", "number = unit->m_seqnum++;",
        "}",
    ]
    lines = [line.strip() for line in edge.splitlines()]
    assert lines[2:] == [
        "unit->clk = clk;", "unit->edge();", "word = unit->word;", "number = unit->m_seqnum++;", "}",
    ]


def test_a_file_without_calls_stays() -> None:
    assert direct_calls(OTHER) == (OTHER, "")


@pytest.mark.parametrize(("old", "new"), [
    ("VlWide<9>/*256:0*/ word", "std::string word"), ("QData/*63:0*/ &number", "QData/*63:0*/ number"),
    ("QData/*63:0*/ handle", "IData/*31:0*/ handle"),
])
def test_other_parameters_are_refused(old: str, new: str) -> None:
    with pytest.raises(UnknownCodeError):
        direct_calls(COMBO.replace(old, new))
