"""`quiescent` of a design that is written out: low while something changes, high behind that, whatever timers do."""

import subprocess
import sys
from pathlib import Path

import pytest
from amaranth import Module, Signal
from amaranth.back import rtlil
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rtl.emit import Boundary
from rtl.kit.quiescent import TIMER, with_moving


class Inner(wiring.Component):
    """Counts while it is enabled."""

    enable: In(1)
    count: Out(4)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.enable):
            m.d.sync += self.count.eq(self.count + 1)
        return m


class Design(wiring.Component):
    """A counter in a module of its own, a memory, and a timer."""

    enable: In(1)
    write: In(1)
    count: Out(4)
    time: Out(8)
    word: Out(4)

    def __init__(self, *, is_timer: bool = True):
        self.is_timer = is_timer
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = inner = Inner()
        m.submodules.memory = memory = Memory(shape=4, depth=4, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        time = Signal(8, attrs={TIMER: 1} if self.is_timer else {})
        m.d.sync += time.eq(time + 1)
        m.d.comb += [
            inner.enable.eq(self.enable), self.count.eq(inner.count), self.time.eq(time), self.word.eq(read.data),
            write.en.eq(self.write), write.data.eq(5),
        ]
        return m


def holds(folder: Path, design: Design, claim: str, *, skipped: int) -> bool:
    """True if a solver finds no state from which `claim` is wrong after so many cycles."""
    text = with_moving(rtlil.convert(Boundary(design), name="top", emit_src=False), top="top")
    (folder / "top.il").write_text(text)
    script = folder / "script.ys"
    script.write_text(
        f"read_rtlil {folder / 'top.il'}\nhierarchy -top top\nproc\nmemory\nflatten\nopt -full\n"
        f"sat -verify -seq {skipped + 2} -prove-skip {skipped} {claim}\n"
    )
    command = [sys.executable, "-m", "testbench.formal.yosys", "-ql", str(folder / "log"), str(script)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


IDLE = "-set rst 0 -set enable 0 -set write 0"


@pytest.mark.parametrize(("is_timer", "claim", "skipped", "expected"), [
    (True, f"{IDLE} -prove quiescent 1", 3, True),
    (True, f"{IDLE} -prove quiescent 1", 1, False),
    (True, "-set rst 0 -set enable 1 -set write 0 -prove quiescent 0", 3, True),
    (True, "-set rst 0 -set enable 0 -set write 1 -prove quiescent 0", 3, True),
    (False, f"{IDLE} -prove quiescent 0", 3, True),
], ids=["rests", "not at once", "a register in a module", "a memory", "a counter that is no timer"])
def test_from_any_state(is_timer: bool, claim: str, skipped: int, expected: bool, tmp_path: Path) -> None:
    assert holds(tmp_path, Design(is_timer=is_timer), claim, skipped=skipped) == expected
