"""Check of sources at a port of a switch."""

from amaranth import Module, Mux, Signal

from firmware_models.abi import formats
from testbench.formal.contract import Contract
from testbench.unit_config import UNIT

RADIX = 2


class SourceCheckContract(Contract):
    """Packets of any length come with any pauses, from any source, towards any outputs.

    Each that has a destination is judged once: before the next one's destination comes, and with its own outputs. If
    sources are checked one of another source, or without one, goes nowhere, and one of the right source where it
    should. Without a check each is judged in the cycle after its destination.
    """

    def __init__(self, *, data_width: int):
        super().__init__()
        self.data_width = data_width

    def build(self, m: Module) -> None:
        from rtl.switch.sizes import SwitchSizes
        from rtl.switch.source_check import SourceCheck

        sizes = SwitchSizes(config=UNIT.changed(datapath={"data_width": self.data_width}, switch={"radix": RADIX}))
        m.submodules.unit = unit = SourceCheck(sizes=sizes)
        here, last, data = self.free(1, "here"), self.free(1, "last"), self.free(self.data_width, "data")
        ports, is_multicast = self.free(RADIX, "ports"), self.free(1, "is_multicast")
        checks, check, node = self.free(1, "checks"), Signal(), self.constant(formats.NODE_BITS, "node")

        # The channel knows the number of the next flit, and if the packet that comes is a multicast.
        index, multicast = Signal(range(sizes.dest_flit + 2)), Signal()
        with m.If(here):
            m.d.sync += index.eq(Mux(last, 0, Mux(index == sizes.dest_flit + 1, index, index + 1)))
            with m.If(index == 0):
                m.d.sync += multicast.eq(is_multicast)
        m.d.comb += [
            unit.here.eq(here), unit.flit.data.eq(data), unit.flit.last.eq(last), unit.flit_index.eq(index),
            unit.multicast.eq(multicast), unit.ports.eq(ports), unit.source.check.eq(check),
            unit.source.node_id.eq(node),
        ]

        # One packet at most waits for its verdict: its outputs, and if its source has come and is the right one.
        offset = formats.PACKET_HEADER.offset("source_id") % self.data_width
        at_dest, at_source = here & (index == sizes.dest_flit), here & (index == sizes.source_flit)
        right = data[offset:][:formats.NODE_BITS] == node
        due, answered, outputs = Signal(), Signal(), Signal(RADIX)
        sourced, honest, of_group, over = Signal(), Signal(), Signal(), Signal()
        judged = unit.o.valid
        # Software turns the check on and off while nothing comes.
        with m.If(~here & ~due & (index == 0)):
            m.d.sync += check.eq(checks)
        self.check(~at_dest | ~due | judged)
        self.check(~judged | due)
        m.d.sync += [due.eq(at_dest | (due & ~judged)), answered.eq(at_dest)]
        with m.If(at_dest):
            m.d.sync += [of_group.eq(Mux(index == 0, is_multicast, multicast)), over.eq(last)]
            m.d.sync += [sourced.eq(0), honest.eq(0)]
        with m.If(at_source & (due | at_dest)):
            m.d.sync += [sourced.eq(1), honest.eq(right)]
        with m.If(answered):
            m.d.sync += outputs.eq(ports)
        # The flit with the source may be on the link in the cycle of the verdict.
        comes = at_source & due & ~over & (sizes.source_flit != sizes.dest_flit)
        good = ~check | Mux(comes, right, sourced & honest)
        self.check(~judged | (unit.forged == ~good))
        self.check(~judged | ~good | (unit.o.payload.ports == Mux(answered, ports, outputs)))
        self.check(~judged | ~good | (unit.o.payload.multicast == of_group))
        self.check(~judged | good | (unit.o.payload.multicast & (unit.o.payload.ports == 0)))
        self.check(judged | ~unit.forged)
        # It waits for its source alone.
        self.check(~due | judged | (check & ~comes & ~over & ~sourced))
        self.reach(judged & good & check & (unit.o.payload.ports != 0) & ~multicast, "a packet of the right source")
        in_one = sizes.source_flit == sizes.dest_flit
        self.reach(judged & ~good & (sourced if in_one else comes), "a packet of another source")
        self.reach(judged & ~check, "a packet without a check")
        if not in_one:
            self.reach(judged & ~good & over, "a packet that ends before its source")
            self.reach(judged & ~answered & good, "a packet whose source comes late")
