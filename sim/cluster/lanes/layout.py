"""Where the values of a module stand in memory: one block for each instance, the same offsets in all of them.

A value of one bit is a *mask*: a byte with a bit for each lane. A wider one is *words*: for each 64 bits a vector, with
64 bits for each lane. Registers stand twice, with their present and their next values, those of a part behind each
other: so a clock edge copies two runs of bytes for each part in which something has changed.
"""

from dataclasses import dataclass, field

from sim.cluster.lanes.netlist import Netlist
from sim.cluster.lanes.parts import Division

WORD = 64
POINTER = 8


def n_words(width: int) -> int:
    """Words that a value takes."""
    return -(-width // WORD)


@dataclass(slots=True)
class Run:
    """Registers of a part: where their present and next values stand, and how many."""

    masks: int = 0
    next_masks: int = 0
    n_masks: int = 0
    words: int = 0
    next_words: int = 0
    n_words: int = 0


@dataclass(slots=True)
class Layout:
    """Offsets in the block of a module, in bytes.

    Members
    -------
    bits : list of tuple of int
        For each part the word of 64 bits, and the bit in it, that says whether it has to be evaluated.
    stage_words : list of range
        Words of the parts of each stage.
    n_activity : int
        Such words in all. They stand at the beginning of a block, then those for the next cycle, then those that say
        which parts have a register that changes.
    children, listeners, memories : int
        Pointers to blocks of instances, to lists of who follows an output, and to memories.
    alarm, moved : int
        Pointers to what is not 0 if an assertion has changed, and to the lanes in which the next edge changes
        something.
    present, following : dict of int to int
        Of registers, and of other values that are kept: offset of the mask or of the first word; of registers also the
        next value.
    outputs : dict of str to int
        Values of the ports.
    write_slots : dict of int to int
        For each cell that writes a memory, where its next access stands.
    runs : list of Run
        Registers of each part.
    assertions : dict of int to int
        Masks of the lanes in which each fails.
    size : int
        Bytes of a block.
    """

    bits: list[tuple[int, int]]
    stage_words: list[range]
    n_activity: int
    children: int = 0
    listeners: int = 0
    memories: int = 0
    alarm: int = 0
    moved: int = 0
    present: dict[int, int] = field(default_factory=dict)
    following: dict[int, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    write_slots: dict[int, list[tuple[int, int, int, int]]] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    assertions: dict[int, int] = field(default_factory=dict)
    masks: tuple[int, int] = (0, 0)
    words: tuple[int, int] = (0, 0)
    size: int = 0


def lay_out(netlist: Netlist, division: Division, lanes: int) -> Layout:
    """The block of a module for so many lanes."""
    return _Placing(netlist, division, lanes).layout


class _Placing:
    def __init__(self, netlist: Netlist, division: Division, lanes: int):
        self.netlist, self.division = netlist, division
        self._vector = 8 * lanes
        self.layout = _activity(division)
        self._at = 3 * 8 * self.layout.n_activity
        self._pointers()
        self._masks()
        self._words()
        self.layout.size = self._at

    def _take(self, count: int) -> int:
        at = self._at
        self._at += count
        return at

    def _pointers(self) -> None:
        layout, netlist = self.layout, self.netlist
        layout.children = self._take(POINTER * len(netlist.instances))
        layout.listeners = self._take(POINTER * len(netlist.outputs))
        layout.memories = self._take(POINTER * len(netlist.memories))
        layout.alarm = self._take(POINTER)
        layout.moved = self._take(POINTER)

    def _registers(self, part: int, *, wide: bool) -> list[int]:
        cells = self.netlist.cells
        return [number for number in self.division.parts[part].registers if (cells[number].width > 1) == wide]

    def _masks(self) -> None:
        layout = self.layout
        layout.runs = [Run() for _ in self.division.parts]
        first = self._at
        for table, of in ((layout.present, "masks"), (layout.following, "next_masks")):
            for part, run in enumerate(layout.runs):
                registers = self._registers(part, wide=False)
                setattr(run, of, self._take(len(registers)))
                run.n_masks = len(registers)
                for index, number in enumerate(registers):
                    table[number] = getattr(run, of) + index
            if of == "masks":
                layout.masks = (first, self._at)
        for number in self._kept(wide=False):
            layout.present[number] = self._take(1)
        for name, width in self.netlist.outputs.items():
            if width == 1:
                layout.outputs[name] = self._take(1)
        for number, _cell in self.netlist.of("assert"):
            layout.assertions[number] = self._take(1)
        for number, cell in self.netlist.of("write"):
            layout.write_slots[number] = [(self._take(1), 0, 0, 0) for _ in cell.args[::3]]

    def _words(self) -> None:
        layout, cells = self.layout, self.netlist.cells
        self._at = -(-self._at // self._vector) * self._vector
        first = self._at
        for table, of in ((layout.present, "words"), (layout.following, "next_words")):
            for part, run in enumerate(layout.runs):
                setattr(run, of, self._at)
                for number in self._registers(part, wide=True):
                    table[number] = self._take(self._vector * n_words(cells[number].width))
                run.n_words = (self._at - getattr(run, of)) // self._vector
            if of == "words":
                layout.words = (first, self._at)
        for number in self._kept(wide=True):
            layout.present[number] = self._take(self._vector * n_words(cells[number].width))
        for name, width in self.netlist.outputs.items():
            if width > 1:
                layout.outputs[name] = self._take(self._vector * n_words(width))
        for number, cell in self.netlist.of("write"):
            layout.write_slots[number] = [
                (
                    mask, self._take(self._vector), self._take(self._vector * n_words(len(data))),
                    self._take(self._vector * n_words(len(data))) if len(set(enable)) > 1 else 0,
                )
                for (mask, *_), data, enable in zip(
                    layout.write_slots[number], cell.args[1::3], cell.args[2::3], strict=True,
                )
            ]

    def _kept(self, *, wide: bool) -> list[int]:
        """Inputs, and what other parts look at."""
        cells = self.netlist.cells
        return [
            number for number, cell in enumerate(cells)
            if (cell.width > 1) == wide and cell.width and (
                cell.op == "input" or (cell.op not in ("ff", "part_out") and number in self.division.readers)
            )
        ]


def _activity(division: Division) -> Layout:
    bits: list[tuple[int, int]] = []
    stage_words: list[range] = []
    word = 0
    for stage in range(division.n_stages):
        count = sum(part.stage == stage for part in division.parts)
        bits += [(word + index // WORD, index % WORD) for index in range(count)]
        stage_words.append(range(word, word + n_words(count)))
        word += n_words(count)
    return Layout(bits, stage_words, word)
