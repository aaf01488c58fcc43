"""What follows a payload without its `valid` is found, wherever it goes; what does not is no fault."""

from pathlib import Path

import pytest
from amaranth import Module, Mux
from amaranth.back import rtlil
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rtl.emit import Boundary
from testbench.formal.stability.netlist import Netlist
from testbench.formal.stability.unseen import faults_of_unseen


class Sink(wiring.Component):
    """Keeps a payload in a register and in a memory; at one place it forgets to ask for `valid`."""

    def __init__(self, defect: str):
        self.defect = defect
        super().__init__({
            "i": In(stream.Signature(8)), "other": In(4), "kept": Out(8), "seen": Out(8), "read": Out(8),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = words = Memory(shape=8, depth=16, init=[])
        write, read = words.write_port(), words.read_port()
        valid, payload = self.i.valid, self.i.payload

        def asked(place: str):
            return 1 if self.defect == place else valid

        m.d.comb += [
            self.i.ready.eq(self.other[0] | (payload[0] if self.defect == "ready" else 0)),
            self.seen.eq(Mux(asked("output"), payload, 0)),
            # An address that nobody writes to may be anything.
            write.addr.eq(payload[4:]), write.data.eq(payload + self.other), write.en.eq(asked("write")),
            read.addr.eq(payload[:4] if self.defect == "read" else self.other), self.read.eq(read.data),
        ]
        with m.If(asked("register") & (self.other == 3)):
            m.d.sync += self.kept.eq(payload)
        return m


def faults(defect: str, folder: Path) -> list[str]:
    """What is found in a sink."""
    (folder / "top.il").write_text(rtlil.convert(Boundary(Sink(defect)), name="top", emit_src=False))
    return faults_of_unseen(Netlist(folder), "i")


def test_a_payload_that_nobody_looks_at(tmp_path: Path) -> None:
    assert faults("", tmp_path) == []


@pytest.mark.parametrize(("defect", "found"), [
    ("register", "kept follows i"), ("output", "output seen follows i"), ("ready", "output i_ready follows i"),
    ("write", "what is written to"), ("read", "read"),
])
def test_one_that_somebody_looks_at(tmp_path: Path, defect: str, found: str) -> None:
    assert any(found in fault for fault in faults(defect, tmp_path))


@pytest.mark.parametrize("stream", ["other", "i_payload", "j"])
def test_a_stream_must_be_one(tmp_path: Path, stream: str) -> None:
    (tmp_path / "top.il").write_text(rtlil.convert(Boundary(Sink("")), name="top", emit_src=False))
    with pytest.raises(ValueError, match=f"not '{stream}'"):
        faults_of_unseen(Netlist(tmp_path), stream)
