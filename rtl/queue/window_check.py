"""Memory windows of the virtual ports: what a VP may make the NIC read and write."""

from amaranth import Array, Cat, Module, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In

from firmware_models.abi import formats
from rtl.interface import WindowQuery, WindowSignature
from rtl.kit.round_robin import RoundRobin
from rtl.queue.records import VpCommit

Window = data.StructLayout({"enable": 1, "base": 64, "limit": 64})


class WindowCheck(wiring.Component):
    """Answers whether memory lies in a VP's window.

    Clients are served in turn, one query at a time; a client that does not take its answer holds up nobody else.
    A query of no bytes asks for its address alone to lie in the window or at its end.

    Timing: an answer is valid 4 cycles after its query's turn comes.

    Parameters
    ----------
    n_vps : int
        Virtual ports, a power of two, at least 2.
    n : int
        Clients, at least 1.
    data_width : int
        Bits of a flit.

    Members
    -------
    commit : ``In(stream.Signature(VpCommit))``
        Records to load; always ready.
    i : array of n ``In(WindowSignature())``
        Clients.
    """

    def __init__(self, *, n_vps: int, n: int, data_width: int):
        if n < 1:
            raise ValueError(f"n must be at least 1, not {n!r}")
        self.n_vps, self.n, self.data_width = n_vps, n, data_width
        super().__init__({
            "commit": In(stream.Signature(VpCommit)),
            "i": In(WindowSignature()).array(n),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.windows = windows = memory.Memory(shape=Window, depth=self.n_vps, init=[])
        load, look = windows.write_port(), windows.read_port()

        record = self.commit.payload.record
        m.d.comb += [
            self.commit.ready.eq(1),
            load.en.eq(self.commit.valid),
            load.addr.eq(self.commit.payload.vp),
            load.data.enable.eq(record.enable),
            load.data.base.eq(record.window_base),
            load.data.limit.eq(record.window_limit),
        ]

        # A client waits its turn while its query is valid and its last answer has been taken.
        m.submodules.turn = turn = RoundRobin(n=self.n)
        answered = Signal(self.n)
        for k, port in enumerate(self.i):
            m.d.comb += [
                turn.requests[k].eq(port.query.valid & ~answered[k]),
                port.answer.valid.eq(answered[k]),
            ]
            with m.If(port.answer.valid & port.answer.ready):
                m.d.sync += answered[k].eq(0)

        client = Signal.like(turn.index)
        query = Signal(WindowQuery)
        end = Signal(65)
        aligned, known, above, below = Signal(), Signal(), Signal(), Signal()
        queries = Array(port.query.payload for port in self.i)
        with m.FSM():
            with m.State("CHOOSE"):
                m.d.comb += turn.advance.eq(1)
                for k, port in enumerate(self.i):
                    m.d.comb += port.query.ready.eq(turn.grant[k])
                m.d.sync += [query.eq(queries[turn.index]), client.eq(turn.index)]
                with m.If(turn.requests.any()):
                    m.next = "LOOK"
            with m.State("LOOK"):
                m.d.comb += [look.en.eq(1), look.addr.eq(query.vp)]
                m.d.sync += [
                    end.eq(query.addr + query.bytes),
                    aligned.eq(~query.addr[: (self.data_width // 8 - 1).bit_length()].any()),
                    known.eq(query.vp < self.n_vps if self.n_vps < 1 << formats.VP_BITS else 1),
                ]
                m.next = "COMPARE"
            with m.State("COMPARE"):
                m.d.sync += [
                    known.eq(known & look.data.enable),
                    above.eq(query.addr >= look.data.base),
                    below.eq(end <= look.data.limit),
                ]
                m.next = "ANSWER"
            with m.State("ANSWER"):
                for k, port in enumerate(self.i):
                    with m.If(client == k):
                        m.d.sync += [
                            port.answer.payload.ok.eq(Cat(aligned, known, above, below).all()),
                            answered[k].eq(1),
                        ]
                m.next = "CHOOSE"
        return m
