# amaranth: UnusedElaboratable=no
"""Values that many instances of a module have, against Amaranth's simulator."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.kit.library import shared
from sim.cluster.lanes.code import LEAST_INSTANCES

WIDTH = 70


class Part(wiring.Component):
    """Follows one value at once and another one at the edge; looks at no more than the first bits of a third."""

    now: In(WIDTH)
    bit: In(1)
    kept: In(WIDTH)
    own: In(8)
    sum: Out(WIDTH)
    held: Out(WIDTH)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.sum.eq(self.now + self.own)
        with m.If(self.bit):
            m.d.sync += self.held.eq(self.kept ^ self.own)
        return m


class Many(wiring.Component):
    """Instances: one less than are many, as many, and more, in turns."""

    def __init__(self) -> None:
        self.groups = [LEAST_INSTANCES - 1, LEAST_INSTANCES, LEAST_INSTANCES + 3]
        super().__init__({
            **{f"{name}{group}": In(width) for group in range(3) for name, width in
               (("now", WIDTH), ("bit", 1), ("kept", WIDTH))},
            "own": In(8), "sums": Out(sum(self.groups) * WIDTH), "held": Out(sum(self.groups) * WIDTH),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        owners = [group for place in range(max(self.groups)) for group in range(3) if place < self.groups[group]]
        parts = [Part() for _ in owners]
        for number, (part, group) in enumerate(zip(parts, owners, strict=True)):
            m.submodules[f"part_{number}"] = shared("part", part, platform)
            m.d.comb += [
                part.now.eq(getattr(self, f"now{group}") ^ getattr(self, f"kept{group}")),
                part.bit.eq(getattr(self, f"bit{group}")), part.kept.eq(getattr(self, f"kept{group}")),
                part.own.eq(self.own + number),
            ]
        m.d.comb += [self.sums.eq(Cat(part.sum for part in parts)), self.held.eq(Cat(part.held for part in parts))]
        return m


def differences(checker: SimpleNamespace, folder: Path, **named: Any) -> list[str]:
    lanes = 4
    stimulus = checker.drawn(Many(), 5, cycles=200, rest=0.8, resets=False)
    program = checker.built(folder, Many(), lanes=lanes, isa=checker.isas[-1], **named)
    found, _ = program.run(stimulus, seeds=[0] * lanes, how=[cycle % 3 for cycle in range(200)])
    wrong: list[str] = checker.differences(found, checker.expected(Many(), stimulus))
    return wrong


def test_many_instances(checker: SimpleNamespace, tmp_path: Path) -> None:
    assert not differences(checker, tmp_path)


PLANTED = {
    "only one of many": ("char* const c = POINTED", "if (n > 4) continue; char* const c = POINTED"),
    "nobody looks": ("if (SOME(d)) {", "if (0) {"),
    "nobody looks at a bit": ("if (d) {", "if (0) {"),
    "the second word is not written": ("    CHANGE_WORD(d, c,", "    // ("),
}


@pytest.mark.parametrize("name", PLANTED)
def test_an_error_is_found(name: str, checker: SimpleNamespace, tmp_path: Path) -> None:
    assert differences(checker, tmp_path, change=checker.planted("part.cpp", *PLANTED[name]))
