"""Merges streams of packets."""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface import PacketSignature
from rtl.kit.round_robin import RoundRobin


class PacketArbiter(wiring.Component):
    """Merges `n` packet streams into one, round robin, packet by packet.

    The grant is held from the header to the last beat of the payload, so packets never mix.

    Timing: combinational in both directions, no latency; the next header follows right after the last beat of the
    packet before. A choice once offered on ``o.header`` stands until it is taken. If it `chooses_ahead`, the choice is
    a register, and no input's ``ready`` depends on another one's ``valid``: a header waits for a cycle if nobody had
    one and another input was chosen last.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    n : int
        Number of inputs. At least 1.
    chooses_ahead : bool
        If true, the next input is chosen in the cycle before its header goes.

    Members
    -------
    i : array of `n` ``In(PacketSignature(data_width))``
        Packets in. An input whose header stays valid is served after at most ``n - 1`` packets of others.
    o : ``Out(PacketSignature(data_width))``
        All packets; those of one input in their order.
    """

    def __init__(self, *, data_width: int, n: int, chooses_ahead: bool = False):
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"n must be a positive integer, not {n!r}")
        self.data_width = data_width
        self.n, self.chooses_ahead = n, chooses_ahead
        super().__init__({
            "i": In(PacketSignature(data_width)).array(n),
            "o": Out(PacketSignature(data_width)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.turn = self._turn = turn = RoundRobin(n=self.n)

        # Headers: no payload of the packet before may be under way.
        in_payload, taken = Signal(), Signal()
        choice, owner = Signal(range(max(self.n, 2))), Signal(range(max(self.n, 2)))
        headers = Array(self.i[k].header.payload for k in range(self.n))
        header = self.o.header
        m.d.comb += [header.payload.eq(headers[choice]), taken.eq(header.valid & header.ready)]
        if self.chooses_ahead:
            self._choose_ahead(m, choice, in_payload, taken)
        else:
            # One that was offered but not taken is held. A header is there or not, whoever has the turn.
            held = Signal()
            m.d.comb += [
                turn.requests.eq(Cat(self.i[k].header.valid for k in range(self.n))),
                choice.eq(Mux(held, owner, turn.index)), header.valid.eq(~in_payload & turn.requests.any()),
                turn.advance.eq(~in_payload & ~held),
            ]
            with m.If(header.valid):
                m.d.sync += [owner.eq(choice), held.eq(~header.ready)]
        with m.If(taken):
            m.d.sync += [owner.eq(choice), in_payload.eq(header.payload.length != 0)]

        # Payload of the packet whose header went out last.
        payload = self.o.payload
        payloads = Array(self.i[k].payload.payload for k in range(self.n))
        payload_valids = Array(self.i[k].payload.valid for k in range(self.n))
        m.d.comb += [
            payload.valid.eq(in_payload & payload_valids[owner]),
            payload.payload.eq(payloads[owner]),
        ]
        with m.If(payload.valid & payload.ready & payload.payload.last):
            m.d.sync += in_payload.eq(0)

        for k in range(self.n):
            m.d.comb += [
                self.i[k].header.ready.eq(~in_payload & (choice == k) & header.ready),
                self.i[k].payload.ready.eq(in_payload & (owner == k) & payload.ready),
            ]


        return m

    def _choose_ahead(self, m: Module, choice: Signal, in_payload: Signal, taken: Signal) -> None:
        """Makes the next choice while a header is taken, or while the chosen input has none."""
        turn, header, waits, changes = self._turn, self.o.header, Signal(self.n), Signal()
        valids = Array(self.i[k].header.valid for k in range(self.n))
        m.d.comb += [
            header.valid.eq(~in_payload & valids[choice]),
            waits.eq(Cat(self.i[k].header.valid & (choice != k) for k in range(self.n))),
            turn.requests.eq(waits), turn.advance.eq(taken | ~valids[choice]), changes.eq(turn.advance & waits.any()),
        ]
        with m.If(changes):
            m.d.sync += choice.eq(turn.index)
