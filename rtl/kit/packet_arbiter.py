"""Merges streams of packets."""

from amaranth import Array, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface import PacketSignature
from rtl.kit.round_robin import RoundRobin


class PacketArbiter(wiring.Component):
    """Merges `n` packet streams into one, round robin, packet by packet.

    The grant is held from the header to the last beat of the payload, so packets never mix.

    Timing: no latency for the input that is chosen; which one that is is a register, so a header waits for a cycle if
    nobody had one and another input was chosen last. The next header follows right after the last beat of the packet
    before. A choice once offered on ``o.header`` stands until it is taken.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    n : int
        Number of inputs. At least 1.

    Members
    -------
    i : array of `n` ``In(PacketSignature(data_width))``
        Packets in. An input whose header stays valid is served after at most ``n - 1`` packets of others.
    o : ``Out(PacketSignature(data_width))``
        All packets; those of one input in their order.
    moves : ``Out(1)``
        High if active in the cycle before (:mod:`rtl.kit.quiescence`).
    """

    def __init__(self, *, data_width: int, n: int):
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"n must be a positive integer, not {n!r}")
        self.data_width = data_width
        self.n = n
        super().__init__({
            "moves": Out(1),
            "i": In(PacketSignature(data_width)).array(n),
            "o": Out(PacketSignature(data_width)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.turn = turn = RoundRobin(n=self.n)

        # Headers: no payload of the packet before may be under way. The next choice is made while one is taken, or
        # while the chosen input has none.
        in_payload, taken, waits = Signal(), Signal(), Signal(self.n)
        choice, owner = Signal(range(max(self.n, 2))), Signal(range(max(self.n, 2)))
        headers = Array(self.i[k].header.payload for k in range(self.n))
        valids = Array(self.i[k].header.valid for k in range(self.n))
        header = self.o.header
        m.d.comb += [
            header.payload.eq(headers[choice]), header.valid.eq(~in_payload & valids[choice]),
            taken.eq(header.valid & header.ready),
            waits.eq(Cat(self.i[k].header.valid & (choice != k) for k in range(self.n))),
            turn.requests.eq(waits), turn.advance.eq(taken | ~valids[choice]),
        ]
        with m.If(turn.advance & waits.any()):
            m.d.sync += choice.eq(turn.index)
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

        m.d.sync += self.moves.eq(taken | (turn.advance & waits.any()) | (payload.valid & payload.ready))

        return m
