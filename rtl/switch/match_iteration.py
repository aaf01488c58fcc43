"""One iteration of the matching of inputs and outputs."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.switch.choice import round_robin, union


class MatchIteration(wiring.Component):
    """One iteration: every open output grants one of the inputs that ask for it; every input accepts a suitable grant.

    An input accepts all grants for its first multicast, or one of those for its other packets: whichever of the two did
    not go last, if it can choose. An input that has accepted copies of a multicast before asks for more, one that has
    accepted another packet for nothing. Both sides choose round robin: the next one after the last that was served.

    Timing: combinational.

    Parameters
    ----------
    radix : int
        Ports.

    Members
    -------
    single, multiple : arrays of `radix` ``In(radix)``
        For each input the outputs that packets for one port, and the first multicast, could go to.
    open : ``In(radix)``
        Outputs that can be given away.
    has_single, has_copies : arrays of `radix` ``In(radix)``
        What each input has accepted in iterations before.
    output_after, input_after : arrays of `radix` ``In(radix)``
        For each output ones above the input served last; for each input, above the output.
    copies_next : ``In(radix)``
        Inputs that prefer their multicast.
    singles, copies : arrays of `radix` ``Out(radix)``
        What each input has accepted, before and in this iteration.
    still_open : ``Out(radix)``
        Outputs that can be given away afterwards.
    """

    def __init__(self, *, radix: int):
        self.radix = radix
        vector_in, vector_out = In(radix).array(radix), Out(radix).array(radix)
        super().__init__({
            "single": vector_in, "multiple": vector_in, "open": In(radix), "has_single": vector_in,
            "has_copies": vector_in, "output_after": vector_in, "input_after": vector_in, "copies_next": In(radix),
            "singles": vector_out, "copies": vector_out, "still_open": Out(radix),
        })

    def elaborate(self, platform):
        m = Module()
        ports = range(self.radix)
        requests, grants, accepted = (
            [Signal(self.radix, name=f"{name}_{port}") for port in ports] for name in ("requests", "grants", "accepted")
        )
        for i in ports:
            asks_single = Mux(self.has_copies[i].any(), 0, self.single[i])
            m.d.comb += requests[i].eq(Mux(
                self.has_single[i].any(), 0, self.open & (asks_single | self.multiple[i]),
            ))
        for j in ports:
            m.d.comb += grants[j].eq(round_robin(Cat(requests[i][j] for i in ports), self.output_after[j]))
        for i in ports:
            granted, wants = Signal(self.radix, name=f"granted_{i}"), Signal(self.radix, name=f"wants_{i}")
            copies, take_copies = Signal(self.radix, name=f"copies_now_{i}"), Signal(name=f"take_copies_{i}")
            m.d.comb += [
                granted.eq(Cat(grants[j][i] for j in ports)),
                wants.eq(Mux(self.has_copies[i].any(), 0, granted & self.single[i])),
                copies.eq(granted & self.multiple[i]),
                take_copies.eq(copies.any() & (self.copies_next[i] | ~wants.any())),
                accepted[i].eq(Mux(take_copies, copies, round_robin(wants, self.input_after[i]))),
                self.singles[i].eq(self.has_single[i] | Mux(take_copies, 0, accepted[i])),
                self.copies[i].eq(self.has_copies[i] | Mux(take_copies, accepted[i], 0)),
            ]
        m.d.comb += self.still_open.eq(self.open & ~union(accepted))
        return m
