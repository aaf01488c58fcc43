"""Verilog-2001 that simulators, linters and synthesis tools of any age read alike.

Yosys writes what its own reader takes. Three things in it mean something else, or nothing, to other tools: immediate
assertions are SystemVerilog, a register's value in its declaration draws a warning of newer Verilators (PROCASSINIT),
and a tool that lints generated text finds widths and names that are as they are by construction.
"""

import re

FAILED = "CONIC_ASSERTION_FAILED"
"""Macro of the emitted file: the statement behind the message of an assertion that has failed."""

_LINT_RULES = (
    # Widths are right by construction: Amaranth sized every operation, Yosys prints the slices.
    "WIDTH", "LITENDIAN", "UNSIGNED", "CMPCONST",
    # A value is assigned before each case.
    "CASEINCOMPLETE",
    # The assignment that evaluates combinational logic at time zero has to be a non-blocking one.
    "INITIALDLY",
    # Every struct stands beside its fields; one file holds all modules.
    "UNUSEDSIGNAL", "UNDRIVEN", "DECLFILENAME", "MULTITOP",
    # Loops through different bits of one vector are none.
    "UNOPTFLAT",
)
"""Lint rules that say nothing about generated Verilog, by the names that Verilator 5.006 and newer know.

An unknown name is an error. Names that were split or replaced later (WIDTH, LITENDIAN) hold for what came of them.
"""

_HEAD = "".join(f"/* verilator lint_off {rule} */\n" for rule in _LINT_RULES) + f"""\
`ifndef {FAILED}
`ifdef VERILATOR
`define {FAILED} $stop
`else
`define {FAILED} begin end
`endif
`endif
"""

_ASSERTION = re.compile(
    r"^(?P<indent> *)(?P<enabled>if \([^\n]*\)) begin\n"
    r"(?: *if \([^\n]*\)\n *\$write\(\"(?P<message>(?:[^\"\\]|\\.)*)\"(?P<values>[^\n]*)\);\n)?"
    r" *assert \((?P<holds>[^\n]*?) ?\);\n"
    r"(?P=indent)end\n", re.MULTILINE,
)
_DECLARED = re.compile(r"^( *)(reg (?:\[[^]\n]*\] )?)(\S+ ?) = ([^;\n]+);\n", re.MULTILINE)


def plain_verilog(text: str) -> str:
    """Returns the output of Yosys as Verilog-2001: its assertions print, registers get their values in ``initial``
    blocks.

    Assertions are for simulators: ``SYNTHESIS`` leaves them out. One that fails prints a line that begins with
    ``ERROR:`` and names the instance; then it carries out ``CONIC_ASSERTION_FAILED``, which whoever compiles the file
    may define (``$finish``, ``$fatal``). By default Verilator stops, and other simulators go on.
    """
    return _HEAD + _DECLARED.sub(r"\1\2\3;\n\1initial \3 = \4;\n", _ASSERTION.sub(_printing, text))


def _printing(found: re.Match[str]) -> str:
    """An assertion as a statement of Verilog-2001."""
    indent = found["indent"]
    message = (found["message"] or "assertion failed").removesuffix("\\n")
    return "".join(f"{line}\n" for line in (
        "`ifndef SYNTHESIS",
        f"{indent}{found['enabled']} begin",
        f"{indent}  if (!{found['holds']} ) begin",
        f'{indent}    $display("ERROR: %m: {message}"{found["values"] or ""});',
        f"{indent}    `{FAILED};",
        f"{indent}  end",
        f"{indent}end",
        "`endif",
    ))
