"""AXI4-Lite front: each good access is one item and its answer, each bad one is refused, neither kind waits for the
other."""

import random
from collections import Counter

import pytest
from amaranth import Value

from rtl.kit.axi_lite import AxiLiteFront
from testbench.parts.axi_lite import OKAY, SLVERR, AxiLiteManager, Write
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs
from testbench.parts.ports import Answers
from testbench.parts.simulation import Takes, fields, run

STALL = 60
"""Cycles for which nobody takes writes, then nobody answers reads, then both go on."""


class Bench:
    """A manager on one side, registers that take their time on the other."""

    def __init__(self, part: AxiLiteFront, rng: random.Random):
        self.part, self.rng, self.address_bits = part, rng, part.address_bits
        self.manager = AxiLiteManager(part.bus, rng, draw_write=self._draw_write, draw_read=self._address,
                                      on_write=self._written, on_read=self._read)
        self.writes, self.reads = Takes(part.o_write, rng), Takes(part.o_read, rng)
        self.answers = Answers(part.i_read, rng, self.reads, self._answer)
        self.expected_writes: list[dict[str, int]] = []
        self.expected_reads: list[int] = []
        self.given: list[dict[str, int]] = []
        self.counts: Counter[str] = Counter()
        self.cycle = 0
        self.waits: dict[str, tuple[int, ...] | None] = {"b": None, "r": None}

    def _address(self) -> int:
        address = self.rng.getrandbits(self.address_bits)
        return address if self.rng.random() < 0.2 else address & -4

    def _draw_write(self) -> Write:
        strobe = 0b1111 if self.rng.random() < 0.8 else self.rng.getrandbits(4)
        return Write(addr=self._address(), data=self.rng.getrandbits(32), strobe=strobe)

    def _answer(self, bits: int) -> int:
        self.given.append({"data": self.rng.getrandbits(32), "error": int(self.rng.random() < 0.3)})
        return self.given[-1]["data"] | self.given[-1]["error"] << 32

    def _written(self, write: Write, response: int) -> None:
        good = write.strobe == 0b1111 and write.addr % 4 == 0
        assert response == (OKAY if good else SLVERR)
        if good:
            self.expected_writes.append({"addr": write.addr, "data": write.data})
        else:
            self.counts["partial write" if write.addr % 4 == 0 else "unaligned write"] += 1
        # An item has been taken before its write is answered, and none comes without one.
        assert [fields(self.part.o_write.payload.shape(), item) for item in self.writes.taken] == self.expected_writes
        self.counts["write while reads stand still"] += self.stalled == "reads"

    def _read(self, address: int, response: int, data: int) -> None:
        if address % 4:
            assert (response, data) == (SLVERR, 0)
            self.counts["unaligned read"] += 1
        else:
            self.expected_reads.append(address)
            answer = self.given[len(self.expected_reads) - 1]
            assert (response, data) == ((SLVERR, 0) if answer["error"] else (OKAY, answer["data"]))
            self.counts["refused read" if answer["error"] else "read"] += 1
        assert self.reads.taken == self.expected_reads
        assert len(self.answers.taken) == len(self.reads.taken)
        self.counts["read while writes stand still"] += self.stalled == "writes"

    @property
    def stalled(self) -> str:
        """Streams that nobody serves, but for those that have been under way since before."""
        return ("writes", "reads", "nothing")[self.cycle // STALL % 3]

    def drive(self, put) -> None:
        """Times of the registers."""
        self.writes.rate = 0 if self.stalled == "writes" else 0.5
        self.answers.rate = 0 if self.stalled == "reads" else 0.5

    def settle(self, read) -> None:
        """An answer that waits stays as it is; one access of a kind is in progress, and keeps the next one out."""
        bus = self.part.bus
        for name in ("aw", "w", "ar"):
            assert not (self.manager.taken(name) and read(getattr(bus, f"{name}ready"))), "two accesses at a time"
        for channel, names in (("b", ("bresp",)), ("r", ("rresp", "rdata"))):
            valid, ready = read(getattr(bus, f"{channel}valid")), read(getattr(bus, f"{channel}ready"))
            shown = tuple(read(getattr(bus, name)) for name in names) if valid else None
            assert self.waits[channel] in (None, shown), "an answer was taken back, or changed"
            self.waits[channel] = None if ready else shown
        self.cycle += 1


class Shaken:
    """Changes all inputs within a cycle: outputs on the bus must not follow. Goes behind all that drives."""

    def __init__(self, part: AxiLiteFront, rng: random.Random):
        self.rng, bus = rng, part.bus
        self.inputs = [
            bus.awvalid, bus.awaddr, bus.wvalid, bus.wdata, bus.wstrb, bus.bready, bus.arvalid, bus.araddr, bus.rready,
            part.o_write.ready, part.o_read.ready, part.i_read.valid, Value.cast(part.i_read.payload),
        ]
        self.outputs = [bus.awready, bus.wready, bus.bvalid, bus.bresp, bus.arready, bus.rvalid, bus.rresp, bus.rdata]

    def drive(self, context) -> None:
        """Compares the outputs before and after, and puts the inputs back."""
        before, kept = [context.get(port) for port in self.outputs], [context.get(port) for port in self.inputs]
        for port in self.inputs:
            context.set(port, self.rng.getrandbits(len(port)))
        assert [context.get(port) for port in self.outputs] == before, "an input reaches the bus within its cycle"
        for port, value in zip(self.inputs, kept, strict=True):
            context.set(port, value)

    def settle(self, read) -> None:
        """Nothing."""


def check(part: AxiLiteFront, rng: random.Random) -> None:
    """Runs accesses."""
    bench = Bench(part, rng)
    ends = [Inputs(bench.drive, bench.settle), bench.manager, bench.writes, bench.reads, bench.answers,
            Shaken(part, rng)]
    run(part, ends, cycles=1000, rng=rng)
    assert len(bench.expected_writes) > 15
    for kind in ("partial write", "unaligned write", "unaligned read", "refused read", "read",
                 "write while reads stand still", "read while writes stand still"):
        assert bench.counts[kind] > 2, kind


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("address_bits", [3, 24, 64])
def test_accesses(address_bits: int, seed: int) -> None:
    check(AxiLiteFront(address_bits=address_bits), random.Random(seed))


@pytest.mark.parametrize(("old", "new"), [
    ("bad_strobe | write.addr[:2].any()", "bad_strobe | write.addr[0]"),
    ("bus.wstrb != 0b1111", "~bus.wstrb.any()"),
    ("with m.If(aw_full & w_full):", "with m.If(aw_full):"),
    ("bus.awready.eq(~aw_full)", "bus.awready.eq(~aw_full & bus.wvalid)"),
    ("bus.wready.eq(~w_full)", "bus.wready.eq(1)"),
    ("bus.araddr[:2].any()", "bus.araddr[:1].any()"),
    ("bus.rdata.eq(0), bus.rresp", "bus.rresp"),
    ("with m.If(~self.i_read.payload.error):", "with m.If(1):"),
    ("m.d.sync += [aw_full.eq(0), w_full.eq(0)]", "m.d.sync += [aw_full.eq(0)]"),
    ("m.d.comb += bus.arready.eq(1)", "m.d.comb += bus.arready.eq(~self.o_write.valid)"),
], ids=["half words", "partial strobes", "before the data", "ready waits", "data over data", "odd reads",
        "a refused read shows the last one", "errors", "data of the write before", "reads wait for writes"])
def test_planted(old: str, new: str) -> None:
    """An error of the front is found."""
    with pytest.raises(AssertionError):
        check(changed(AxiLiteFront, old, new)(address_bits=24), random.Random(1))
