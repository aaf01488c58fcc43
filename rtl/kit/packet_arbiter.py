"""Merges streams of packets."""

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface import PacketSignature
from rtl.kit.round_robin import RoundRobin


class PacketArbiter(wiring.Component):
    """Merges `n` packet streams into one, round robin, packet by packet.

    The grant is held from the header to the last beat of the payload, so packets never mix.

    Timing: combinational in both directions, no latency; the next header follows right after the last
    beat of the packet before. A choice once offered on ``o.header`` stands until it is taken. With `pipelined` the
    choice is a register, made while the packet before goes out, so ``i[k].ready`` depends on ``o.ready`` only; a header
    that finds no other waiting is offered a cycle later.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    n : int
        Number of inputs. At least 1.
    pipelined : bool
        Whether the choice is made a cycle ahead.

    Members
    -------
    i : array of `n` ``In(PacketSignature(data_width))``
        Packets in. An input whose header stays valid is served after at most ``n - 1`` packets of others.
    o : ``Out(PacketSignature(data_width))``
        All packets; those of one input in their order.
    moves : ``Out(1)``
        At work in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, *, data_width: int, n: int, pipelined: bool = False):
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"n must be a positive integer, not {n!r}")
        self.data_width = data_width
        self.n = n
        self.pipelined = pipelined
        super().__init__({
            "moves": Out(1),
            "i": In(PacketSignature(data_width)).array(n),
            "o": Out(PacketSignature(data_width)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.turn = turn = RoundRobin(n=self.n)

        # Whose header is next, and whose payload is under way.
        may_go, in_payload = Signal(), Signal()
        choice, owner = Signal(range(max(self.n, 2))), Signal(range(max(self.n, 2)))
        headers = Array(self.i[k].header.payload for k in range(self.n))
        header = self.o.header
        m.d.comb += header.payload.eq(headers[choice])
        if self.pipelined:
            self._choose_ahead(m, turn, choice, may_go, in_payload)
        else:
            self._choose(m, turn, choice, owner, may_go, in_payload)
        with m.If(header.valid):
            m.d.sync += [
                owner.eq(choice),
                in_payload.eq(header.ready & (header.payload.length != 0)),
            ]

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
                turn.requests[k].eq(self.i[k].header.valid),
                self.i[k].header.ready.eq(may_go & (choice == k) & header.ready),
                self.i[k].payload.ready.eq(in_payload & (owner == k) & payload.ready),
            ]

        m.d.sync += self.moves.eq((header.valid & header.ready) | (payload.valid & payload.ready))

        return m

    def _choose(self, m, turn, choice, owner, may_go, in_payload):
        """Headers: no payload of the packet before may be under way. One that was offered but not taken is held."""
        held = Signal()
        header = self.o.header
        header_valids = Array(self.i[k].header.valid for k in range(self.n))
        m.d.comb += [
            choice.eq(Mux(held | in_payload, owner, turn.index)),
            may_go.eq(~in_payload),
            header.valid.eq(may_go & header_valids[choice]),
            turn.advance.eq(~in_payload & ~held),
        ]
        with m.If(header.valid):
            m.d.sync += held.eq(~header.ready)

    def _choose_ahead(self, m, turn, choice, may_go, in_payload):
        """The same, chosen in advance: a header stays valid until it is taken, so the choice alone says that it is."""
        chosen = Signal()
        header = self.o.header
        m.d.comb += [
            may_go.eq(chosen & ~in_payload),
            header.valid.eq(may_go),
            turn.advance.eq(~chosen),
        ]
        with m.If(~chosen):
            m.d.sync += [choice.eq(turn.index), chosen.eq(turn.requests.any())]
        with m.Elif(header.valid & header.ready):
            m.d.sync += chosen.eq(0)
