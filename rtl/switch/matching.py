# amaranth: UnusedElaboratable=no
"""Matching of inputs and outputs for one virtual channel: iSLIP by packets, with multicasts."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.kit.library import shared
from rtl.switch.choice import union
from rtl.switch.input_channel import CandidateSignature
from rtl.switch.match_iteration import MatchIteration
from rtl.switch.patience import Patience
from rtl.switch.sizes import SwitchSizes

_PATIENCE = 10
"""Of the longest packet, the part that an input sends to the same outputs while it has others to send, before it asks
for those only: less than a packet, so that two inputs which share two outputs take turns after each packet."""


class Matching(wiring.Component):
    """Chooses in each cycle the packets that start, of those whose input and outputs are free or about to be.

    The work is done by iterations, see :class:`rtl.switch.match_iteration.MatchIteration`. Pointers move with what the
    first iteration started, so that inputs served last wait for the others.

    A packet starts only at outputs whose next buffer has room for all of it: it never waits for credits on its way.
    Inputs and outputs at their last flit take part; what they are matched with starts only if that flit leaves in this
    cycle. So the matching does not wait for the decision which flits leave.

    Timing: combinational.

    Parameters
    ----------
    sizes : SwitchSizes
        Sizes.

    Members
    -------
    candidate : array of `radix` ``In(CandidateSignature)``
        The inputs.
    room, room_short : ``In(radix)``
        Outputs with credits for any packet, and for a short one.
    stalled : ``Out(radix)``
        Outputs that send nothing while a packet waits for credits of theirs. A register.
    """

    def __init__(self, *, sizes: SwitchSizes):
        self.sizes = sizes
        self.radix = radix = sizes.radix
        self.iterations = sizes.match_iterations
        super().__init__({
            "candidate": In(CandidateSignature(radix)).array(radix), "room": In(radix), "room_short": In(radix),
            "stalled": Out(radix),
        })

    def elaborate(self, platform):
        m = Module()
        ports = range(self.radix)

        def vectors(name: str) -> list[Signal]:
            return [Signal(self.radix, name=f"{name}_{port}") for port in ports]

        # Requests of the inputs. Outputs are open if nobody holds them beyond this cycle, as far as is known.
        single, multiple, keeps = vectors("single"), vectors("multiple"), vectors("keeps")
        open_ = Signal(self.radix)
        for i, candidate in enumerate(self.candidate):
            patience = Patience(
                radix=self.radix, limit=max(2, self.sizes.longest // _PATIENCE), pause=2 * self.sizes.longest,
            )
            m.submodules[f"patience_{i}"] = shared("conic_patience", patience, platform)
            wanted = Signal(self.radix, name=f"wanted_{i}")
            free, reachable = Signal(name=f"free_{i}"), Signal(self.radix, name=f"reachable_{i}")
            m.d.comb += [
                free.eq(~candidate.busy | candidate.at_last),
                keeps[i].eq(candidate.keeps),
                wanted.eq(candidate.waiting & (self.room | (candidate.waiting_short & self.room_short))),
                single[i].eq(Mux(free, wanted & ~patience.avoid, 0)),
                reachable.eq(
                    candidate.mc_ports & (self.room | Mux(candidate.mc_short, self.room_short, 0)) & ~patience.avoid
                ),
                patience.started.eq(candidate.start | candidate.start_mc),
                patience.others.eq(wanted | reachable),
                # Before it is wholly there, a multicast starts everywhere or nowhere.
                multiple[i].eq(Mux(
                    free & (candidate.mc_complete | ~(candidate.mc_ports & ~(reachable & open_)).any()), reachable, 0,
                )),
            ]
        m.d.comb += open_.eq(~union(keeps))
        m.d.sync += self.stalled.eq(~self.room & ~union([candidate.holds for candidate in self.candidate]) & union([
            (c.waiting & ~(c.waiting_short & self.room_short)) | (c.mc_ports & ~Mux(c.mc_short, self.room_short, 0))
            for c in self.candidate
        ]))

        # The iterations, one after the other. `after` has ones above the input (output) that was served last.
        output_after, input_after = vectors("output_after"), vectors("input_after")
        copies_next = Signal(self.radix)
        steps = [MatchIteration(radix=self.radix) for _ in range(self.iterations)]
        for k, step in enumerate(steps):
            m.submodules[f"iteration_{k}"] = step
            m.d.comb += [step.open.eq(steps[k - 1].still_open if k else open_), step.copies_next.eq(copies_next)]
            for i in ports:
                m.d.comb += [
                    step.single[i].eq(single[i]), step.multiple[i].eq(multiple[i]),
                    step.output_after[i].eq(output_after[i]), step.input_after[i].eq(input_after[i]),
                    step.has_single[i].eq(steps[k - 1].singles[i] if k else 0),
                    step.has_copies[i].eq(steps[k - 1].copies[i] if k else 0),
                ]

        # A matched packet starts where the flits that were in the way do leave.
        kept = vectors("kept")
        clear = Signal(self.radix)
        m.d.comb += clear.eq(~union(kept))
        for i, candidate in enumerate(self.candidate):
            own, possible = Signal(name=f"own_{i}"), Signal(self.radix, name=f"possible_{i}")
            m.d.comb += [
                kept[i].eq(candidate.kept),
                own.eq(~candidate.busy | candidate.ending),
                candidate.start.eq(Mux(own, steps[-1].singles[i] & clear, 0)),
                possible.eq(steps[-1].copies[i] & clear),
                candidate.start_mc.eq(Mux(
                    own & (candidate.mc_complete | (possible == candidate.mc_ports)), possible, 0,
                )),
            ]
            with m.If(candidate.start.any()):
                m.d.sync += copies_next[i].eq(1)
            with m.Elif(candidate.start_mc.any()):
                m.d.sync += copies_next[i].eq(0)
            with m.If((candidate.start & steps[0].singles[i]).any()):
                m.d.sync += input_after[i].eq(~(candidate.start | (candidate.start - 1)))
        first = vectors("first")
        m.d.comb += [
            first[i].eq((c.start & steps[0].singles[i]) | (c.start_mc & steps[0].copies[i]))
            for i, c in enumerate(self.candidate)
        ]
        for j in ports:
            started = Signal(self.radix, name=f"started_{j}")
            m.d.comb += started.eq(Cat(first[i][j] for i in ports))
            with m.If(started.any()):
                m.d.sync += output_after[j].eq(~(started | (started - 1)))
        return m
