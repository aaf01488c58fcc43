"""Adds the output `quiescent` to a design that is written out: nothing in it changes until one of its inputs does.

One transformation of the netlist makes it, so no part of the hardware has to say that it works. Each module gets an
output `is_moving`: a register of it takes another value at the next clock edge, a memory is written, or a module in it
is moving. `quiescent` is high when nothing was moving in the two cycles before: the second one for memories whose
address had just changed. Where nobody connects it, synthesis takes all of it away.
"""

import re
from collections.abc import Iterator, Sequence

PORT = "quiescent"
TIMER = "timer"
"""Attribute of a register that goes on for ever, which is no reason to be awake."""
_MOVING = r"\is_moving"
_NAME = re.compile(r"^module (\S+)$")
_WIRE = re.compile(r"^  wire (?:width (\d+) )?(?:(?:input|output|inout) (\d+) +)?(\S+)$")
_CELL = re.compile(r"^  cell (\S+) (\S+)$")
_CONNECT = re.compile(r"^    connect \\(\w+) (.+)$")


def with_moving(rtlil: str, *, top: str | None = None) -> str:
    """The modules of Amaranth's RTLIL with the output `is_moving`; module `top` has `quiescent` in its place."""
    return "\n".join(
        line for module in _modules(rtlil.split("\n")) for line in _Module(module, top).lines()
    )


def _modules(lines: Sequence[str]) -> Iterator[list[str]]:
    """Lines of each module, with what stands before it, and the rest."""
    found: list[str] = []
    for line in lines:
        found.append(line)
        if line == "end":
            yield found
            found = []
    yield found


class _Module:
    """One module, from its attributes to its end."""

    def __init__(self, lines: list[str], top: str | None):
        self._lines = lines
        name = next((found[1] for found in map(_NAME.match, lines) if found), "")
        self._is_top = name == f"\\{top}"
        self._has_body = bool(name)
        self._timers, self._n_ports = self._look_at_wires()
        self._wires: list[str] = []
        self._added: list[str] = []
        self._signals: list[str] = []

    def _look_at_wires(self) -> tuple[set[str], int]:
        timers, ports, attributes = set(), 0, []
        for line in self._lines:
            if line.startswith("  attribute "):
                attributes.append(line)
                continue
            if found := _WIRE.match(line):
                ports += found[2] is not None
                if any(attribute.startswith(f"  attribute \\{TIMER} ") for attribute in attributes):
                    timers.add(found[3])
            attributes = []
        return timers, ports

    def lines(self) -> list[str]:
        """The module as it is to be."""
        if not self._has_body:
            return self._lines
        made: list[str] = []
        first = 0
        for line, cell in self._cells():
            if line == "  end" and cell:
                made += self._watch(*cell)
            if line == "end":
                self._finish()
                made += self._added
            made.append(line)
            if line.startswith("module "):
                first = len(made)
        # A wire stands before what it is connected to.
        return made[:first] + self._wires + made[first:]

    def _cells(self) -> Iterator[tuple[str, tuple[str, dict[str, str], dict[str, str]] | None]]:
        """Each line; with the end of a cell its type, parameters and connections."""
        cell: tuple[str, dict[str, str], dict[str, str]] | None = None
        for line in self._lines:
            if found := _CELL.match(line):
                cell = found[1], {}, {}
            elif cell and (found := _CONNECT.match(line)):
                cell[2][found[1]] = found[2]
            elif cell and line.startswith("    parameter "):
                words = line.split()
                cell[1][words[-2].removeprefix("\\")] = words[-1]
            yield line, cell
            if line == "  end":
                cell = None

    def _watch(self, kind: str, parameters: dict[str, str], ports: dict[str, str]) -> list[str]:
        """Notes what says that a cell is moving; what the cell has to have for that."""
        if kind == "$dff" and ports["Q"].split()[0] not in self._timers:
            # By case: what has no reset is unknown at first, and rests all the same.
            self._cell("$nex", ports["D"], ports["Q"], int(parameters["WIDTH"]))
        elif kind == "$memwr_v2":
            width = int(parameters["WIDTH"])
            self._cell("$nex", ports["EN"], f"{width}'{'0' * width}", width)
        elif kind.startswith("\\"):
            self._signals.append(self._wire())
            return [f"    connect {_MOVING} {self._signals[-1]}"]
        return []

    def _wire(self) -> str:
        name = f"$moving${len(self._wires)}"
        self._wires.append(f"  wire {name}")
        return name

    def _cell(self, kind: str, a: str, b: str, width: int) -> None:
        out = self._wire()
        self._signals.append(out)
        self._added += [
            f"  cell {kind} {out}$cell", *(f"    parameter \\{side}_SIGNED 0" for side in "AB"),
            *(f"    parameter \\{side}_WIDTH {width}" for side in "AB"), "    parameter \\Y_WIDTH 1",
            f"    connect \\A {a}", f"    connect \\B {b}", f"    connect \\Y {out}", "  end",
        ]

    def _any(self, value: str, width: int) -> str:
        out = self._wire()
        self._signals.append(out)
        self._added += [
            f"  cell $reduce_or {out}$cell", "    parameter \\A_SIGNED 0", f"    parameter \\A_WIDTH {width}",
            "    parameter \\Y_WIDTH 1", f"    connect \\A {value}", f"    connect \\Y {out}", "  end",
        ]
        return out

    def _finish(self) -> None:
        """The port: a register at the top, so that it is on no path."""
        signals = list(self._signals)
        moving = self._any("{ " + " ".join(signals) + " }", len(signals)) if signals else "1'0"
        if not self._is_top:
            self._wires.append(f"  wire output {self._n_ports} {_MOVING}")
            self._added.append(f"  connect {_MOVING} {moving}")
            return
        last = moving
        for name in ("$moved", "$moved_before"):
            self._wires += ["  attribute \\init 1'1", f"  wire {name}"]
            self._added += [
                f"  cell $dff {name}$cell",
                "    parameter \\CLK_POLARITY 1", "    parameter \\WIDTH 1", "    connect \\CLK \\clk",
                f"    connect \\D {last}", f"    connect \\Q {name}", "  end",
            ]
            last = name
        moved = self._any("{ $moved $moved_before }", 2)
        self._wires.append(f"  wire output {self._n_ports} \\{PORT}")
        self._added += [
            f"  cell $not ${PORT}$cell", "    parameter \\A_SIGNED 0",
            "    parameter \\A_WIDTH 1", "    parameter \\Y_WIDTH 1", f"    connect \\A {moved}",
            f"    connect \\Y \\{PORT}", "  end",
        ]
