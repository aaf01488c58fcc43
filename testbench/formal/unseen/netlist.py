"""A flat netlist, as Yosys writes it, and what a cycle of it computes."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyosys import libyosys

from testbench.formal.unseen.gates import FALSE, TRUE, Gates

Bit = int | str
"""A net's number, or a constant: "0", "1", "x"."""

_SCRIPT = (
    "hierarchy -top top", "proc", "flatten", "delete t:$assert t:$assume t:$cover t:$check t:$print",
    "opt_clean", "memory_collect", "async2sync", "dffunmap", "opt_clean",
)


@dataclass(frozen=True)
class Memory:
    """A memory cell: bits of its write ports, one port behind the other; there is an enable for each bit of data."""

    name: str
    write_enable: list[Bit]
    write_address: list[Bit]
    write_data: list[Bit]
    n_writes: int

    def writes(self) -> Iterator[tuple[Bit, list[Bit]]]:
        """Each different enable of a port, with the nets that count while it is high: address and data."""
        if not self.write_enable:
            return
        width = len(self.write_enable) // self.n_writes
        bits = len(self.write_address) // self.n_writes
        for port in range(self.n_writes):
            data: dict[Bit, list[Bit]] = {}
            for place in range(port * width, (port + 1) * width):
                data.setdefault(self.write_enable[place], []).append(self.write_data[place])
            for enable, nets in data.items():
                yield enable, self.write_address[port * bits:(port + 1) * bits] + nets


class Netlist:
    """Registers, memories and logic of one module without hierarchy.

    Parameters
    ----------
    folder : Path
        Holds ``top.il``; gets ``top.json``.

    Members
    -------
    inputs, outputs : dict of str to list of Bit
        Ports.
    registers : dict of int to Bit
        What each register's net gets at the next edge.
    names : dict of int to str
        A name of each register's net, with the number of the bit.
    memories : list of Memory
        All memories; reads are combinational, their registers stand among the others.
    """

    def __init__(self, folder: Path):
        design = libyosys.Design()
        design.run_pass(f'tee -q -o "{folder}/yosys.log" read_rtlil "{folder}/top.il"')
        for step in _SCRIPT:
            design.run_pass(f'tee -q -a "{folder}/yosys.log" {step}')
        design.run_pass(f'tee -q -a "{folder}/yosys.log" write_json "{folder}/top.json"')
        module: dict[str, Any] = json.loads((folder / "top.json").read_text())["modules"]["top"]
        ports = module["ports"]
        self.inputs = {name: port["bits"] for name, port in ports.items() if port["direction"] == "input"}
        self.outputs = {name: port["bits"] for name, port in ports.items() if port["direction"] == "output"}
        self.registers: dict[int, Bit] = {}
        self.memories: list[Memory] = []
        self._cells: list[dict[str, Any]] = []
        self._driver: dict[Bit, tuple[int, int]] = {}
        for name, cell in module["cells"].items():
            self._take(name, cell)
        self.nets: dict[str, list[Bit]] = {name: net["bits"] for name, net in module["netnames"].items()}
        self.names = dict.fromkeys(self.registers, "")
        for name, net in sorted(module["netnames"].items(), key=lambda item: (-item[0].count("."), item[0])):
            for index, bit in enumerate(net["bits"]):
                if not self.names.get(bit, "x"):
                    self.names[bit] = f"{name}[{index}]"

    def _take(self, name: str, cell: dict[str, Any]) -> None:
        kind, wires = cell["type"], cell["connections"]
        if kind == "$dff":
            self.registers.update(zip(wires["Q"], wires["D"], strict=True))
            return
        if kind == "$scopeinfo":
            return
        number = len(self._cells)
        self._cells.append(cell)
        if kind == "$mem_v2":
            width, n = (int(cell["parameters"][key], 2) for key in ("WIDTH", "RD_PORTS"))
            bits = int(cell["parameters"]["ABITS"], 2)
            clocked = cell["parameters"]["RD_CLK_ENABLE"][::-1]
            reads = []
            for k in range(n):
                data = wires["RD_DATA"][k * width:(k + 1) * width]
                if clocked[k] == "1":
                    # The port's register; what it gets is a net of its own.
                    got = [f"{name}/{k}/{index}" for index in range(width)]
                    self.registers.update(zip(data, got, strict=True))
                    data = got
                reads.append((wires["RD_ADDR"][k * bits:(k + 1) * bits], data, wires["RD_EN"][k]))
            self.memories.append(Memory(
                name, wires["WR_EN"], wires["WR_ADDR"], wires["WR_DATA"], int(cell["parameters"]["WR_PORTS"], 2),
            ))
            cell["reads"], cell["name"], cell["kept"] = reads, name, wires["RD_DATA"]
            cell["clocked"] = clocked
            out = [bit for _, data, _ in reads for bit in data]
        else:
            out = wires["Y"]
        for index, bit in enumerate(out):
            self._driver[bit] = (number, index)

    def evaluator(
        self, gates: Gates, known: dict[Bit, int], recall: Callable[..., list[int]], read_only: set[str],
    ) -> "Evaluator":
        """Evaluates the nets of one cycle, given literals of registers and inputs.

        Parameters
        ----------
        gates : Gates
            Where they are built.
        known : dict of Bit to int
            Literals of registers and inputs.
        recall : callable
            What a memory holds at an address, or a cell that is not looked into answers.
        read_only : set of str
            Memories that are not written in this cycle.
        """
        return Evaluator(self._cells, self._driver, gates, known, recall, read_only)


class Evaluator:
    """The nets of one cycle, worked out when they are asked for."""

    def __init__(
        self, cells: list[dict[str, Any]], driver: dict[Bit, tuple[int, int]], gates: Gates, known: dict[Bit, int],
        recall: Callable[..., list[int]], read_only: set[str],
    ):
        self._cells, self._driver, self._gates, self._recall = cells, driver, gates, recall
        self._read_only = read_only
        self._known: dict[Bit, int] = {"0": FALSE, "1": TRUE, "x": FALSE, **known}

    def __getitem__(self, bit: Bit) -> int:
        """The literal of a net."""
        known = self._known
        waiting = [bit]
        while waiting:
            asked = waiting[-1]
            if asked in known:
                waiting.pop()
                continue
            number, index = self._driver[asked]
            cell = self._cells[number]
            missing = [need for need in self._needs(cell, index) if need not in known]
            if missing:
                waiting += missing
            else:
                self._compute(cell, index)
        return known[bit]

    def all_of(self, bits: Sequence[Bit]) -> list[int]:
        """The literals of nets."""
        return [self[bit] for bit in bits]

    @staticmethod
    def _needs(cell: dict[str, Any], index: int) -> list[Bit]:
        kind, wires = cell["type"], cell["connections"]
        if kind == "$mem_v2":
            port = index // int(cell["parameters"]["WIDTH"], 2)
            address, _, enable = cell["reads"][port]
            return [*address, enable, *wires["WR_EN"]]
        if kind in _BITWISE:
            return [wires[p][index] for p in ("A", "B") if p in wires and index < len(wires[p])] + [
                wires[p][-1] for p in ("A", "B") if p in wires
            ] + wires.get("S", [])
        return [bit for port in ("A", "B", "S") for bit in wires.get(port, ())]

    def _compute(self, cell: dict[str, Any], index: int) -> None:
        kind, wires, g, known = cell["type"], cell["connections"], self._gates, self._known
        if kind == "$mem_v2":
            width = int(cell["parameters"]["WIDTH"], 2)
            port = index // width
            address, data, enable = cell["reads"][port]
            values = self._recall(cell["name"], tuple(known[a] for a in address), width, is_memory=True)
            if cell["clocked"][port] == "1":
                writes = g.any_of([known[bit] for bit in dict.fromkeys(wires["WR_EN"])])
                if writes != FALSE and cell["name"] not in self._read_only:
                    values = [g.choose(writes, g.free()[0], value) for value in values]
                kept = cell["kept"][port * width:(port + 1) * width]
                values = [g.choose(known[enable], value, known[k]) for value, k in zip(values, kept, strict=True)]
            known.update(zip(data, values, strict=True))
            return
        out = wires["Y"]
        flags = cell["parameters"]

        def operand(port: str, width: int | None = None) -> list[int]:
            bits = [known[bit] for bit in wires[port]]
            if width is not None:
                fill = bits[-1] if int(flags.get(f"{port}_SIGNED", "0"), 2) else FALSE
                bits = (bits + [fill] * width)[:width]
            return bits

        n = len(out)
        if kind in _BITWISE:
            def at(port: str) -> int:
                bits = wires[port]
                if index < len(bits):
                    return known[bits[index]]
                return known[bits[-1]] if int(flags.get(f"{port}_SIGNED", "0"), 2) else FALSE

            match kind:
                case "$and":
                    value = g.both(at("A"), at("B"))
                case "$or":
                    value = g.either(at("A"), at("B"))
                case "$xor":
                    value = g.differ(at("A"), at("B"))
                case "$xnor":
                    value = g.differ(at("A"), at("B")) ^ 1
                case "$not":
                    value = at("A") ^ 1
                case "$pos":
                    value = at("A")
                case _:
                    value = g.choose(known[wires["S"][0]], at("B"), at("A"))
            known[out[index]] = value
            return
        match kind:
            case "$pmux":
                result = operand("A")
                for k, select in enumerate(wires["S"]):
                    other = [known[bit] for bit in wires["B"][k * n:(k + 1) * n]]
                    result = [g.choose(known[select], y, x) for x, y in zip(result, other, strict=True)]
            case "$add":
                result = g.total(operand("A", n), operand("B", n), FALSE)[0]
            case "$sub":
                result = g.total(operand("A", n), [bit ^ 1 for bit in operand("B", n)], TRUE)[0]
            case "$neg":
                result = g.total([FALSE] * n, [bit ^ 1 for bit in operand("A", n)], TRUE)[0]
            case "$eq" | "$ne":
                width = max(len(wires["A"]), len(wires["B"]))
                unlike = g.any_of([
                    g.differ(x, y) for x, y in zip(operand("A", width), operand("B", width), strict=True)
                ])
                result = [unlike ^ (kind == "$eq")]
            case "$lt" | "$le" | "$gt" | "$ge":
                first, second = ("A", "B") if kind in ("$lt", "$ge") else ("B", "A")
                width = max(len(wires["A"]), len(wires["B"])) + 1
                no_borrow = g.total(
                    operand(first, width), [bit ^ 1 for bit in operand(second, width)], TRUE
                )[0][-1]  # sign of the difference
                result = [no_borrow ^ (kind in ("$le", "$ge"))]
            case "$reduce_or" | "$reduce_bool" | "$logic_not":
                result = [g.any_of(operand("A")) ^ (kind == "$logic_not")]
            case "$reduce_and":
                result = [g.all_of(operand("A"))]
            case "$reduce_xor" | "$reduce_xnor":
                parity = FALSE
                for bit in operand("A"):
                    parity = g.differ(parity, bit)
                result = [parity ^ (kind == "$reduce_xnor")]
            case "$logic_and":
                result = [g.both(g.any_of(operand("A")), g.any_of(operand("B")))]
            case "$logic_or":
                result = [g.either(g.any_of(operand("A")), g.any_of(operand("B")))]
            case "$shl" | "$shr" | "$shift" | "$shiftx" if not int(flags["A_SIGNED"], 2) | int(flags["B_SIGNED"], 2):
                result = operand("A", max(n, len(wires["A"])))
                for place, select in enumerate(operand("B")):
                    step = min(1 << place, len(result))
                    fill, keep = [FALSE] * step, len(result) - step
                    moved = fill + result[:keep] if kind == "$shl" else result[step:] + fill
                    result = [g.choose(select, y, x) for x, y in zip(result, moved, strict=True)]
                result = result[:n]
            case "$mul" | "$shift" | "$shiftx" | "$shl" | "$shr" | "$sshr" | "$sshl":
                # Only that equal operands have equal results is known of these.
                result = self._recall(kind, (json.dumps(flags), *operand("A"), *operand("B")), n, is_memory=False)
            case _:
                raise ValueError(f"a cell must be of a kind that has a meaning here, not {kind}")
        result = (result + [FALSE] * n)[:n]
        known.update(zip(out, result, strict=True))


_BITWISE = {"$and", "$or", "$xor", "$xnor", "$not", "$pos", "$mux"}
