"""Memory windows of the virtual ports: what a VP may make the NIC read and write, and what others may."""

from amaranth import Array, Cat, Module, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In

from firmware_models.abi import formats
from rtl.interface import ADDRESS_BITS, WindowQuery, WindowSignature, check_address_bits
from rtl.kit.round_robin import RoundRobin
from rtl.queue.records import VpCommit, WindowCommit, window_layout


class WindowCheck(wiring.Component):
    """Answers whether one window of a VP holds all of some memory and has the right that is asked for.

    Windows may overlap; each is looked at by itself, so memory that only two of them together hold is refused.
    Clients are served in turn, one query at a time; a client that does not take its answer holds up nobody else.
    A query of no bytes asks for its address alone to lie in a window or at its end. An address with a bit that this
    build does not have lies in no window. What a window has beyond these bits is forgotten, so its limit, which lies
    outside of it, is below ``1 << address_bits``.

    A commit closes the VP first and opens it last: no query finds windows of the old record and the new one. A window
    that is withdrawn is refused to every query whose turn comes later.

    Timing: an answer is valid 4 cycles after its query's turn comes if window 0 holds the memory, a cycle later for
    every other window that has to be looked at. A commit takes a cycle for each window and one more.

    Parameters
    ----------
    n_vps : int
        Virtual ports, a power of two, at least 2.
    n_windows : int
        Windows of each, a power of two.
    n : int
        Clients, at least 1.
    data_width : int
        Bits of a flit.
    address_bits : int
        Bits of a host address, 32 to 64.

    Members
    -------
    commit : ``In(stream.Signature(VpCommit))``
        Records to load.
    window : ``In(stream.Signature(WindowCommit))``
        Windows to register or withdraw.
    i : array of n ``In(WindowSignature())``
        Clients.
    """

    def __init__(
        self, *, n_vps: int, n_windows: int, n: int, data_width: int, address_bits: int = ADDRESS_BITS
    ):
        if n < 1:
            raise ValueError(f"n must be at least 1, not {n!r}")
        self.n_vps, self.n_windows, self.n, self.data_width = n_vps, n_windows, n, data_width
        self.address_bits = check_address_bits(address_bits)
        super().__init__({
            "commit": In(stream.Signature(VpCommit)),
            "window": In(stream.Signature(WindowCommit)),
            "i": In(WindowSignature()).array(n),
        })

    def elaborate(self, platform):
        m = Module()
        vp_bits, index_bits = (self.n_vps - 1).bit_length(), (self.n_windows - 1).bit_length()
        layout = window_layout(self.address_bits)
        m.submodules.windows = windows = memory.Memory(shape=layout, depth=self.n_vps * self.n_windows, init=[])
        m.submodules.enables = enables = memory.Memory(shape=1, depth=self.n_vps, init=[])
        load, look = windows.write_port(), windows.read_port()
        load_enable, look_enable = enables.write_port(), enables.read_port()

        self._load(m, load, load_enable)
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

        # The windows of a VP come out of the memory one a cycle: `index` is asked for, the one before it (`there`) is
        # compared, and the one before that (`compared`) decides.
        client = Signal.like(turn.index)
        chosen_query = Signal(WindowQuery)
        m.d.comb += chosen_query.eq(Array(port.query.payload for port in self.i)[turn.index])
        query = Signal(WindowQuery)
        # Bits that an address here has not must be 0.
        addr, beyond = query.addr[:self.address_bits], query.addr[self.address_bits:].any()
        end = Signal(self.address_bits + 1)
        aligned, known = Signal(), Signal()
        index = Signal(range(self.n_windows + 1))
        there, compared, last = Signal(), Signal(), Signal()
        above, below, allowed = Signal(), Signal(), Signal()
        held, over = Signal(), Signal()
        m.d.comb += [
            look.en.eq(1), look.addr.eq(Cat(index[:index_bits], query.vp[:vp_bits])),
            look_enable.en.eq(1), look_enable.addr.eq(query.vp),
            held.eq(Cat(aligned, known, above, below, allowed).all()),
            over.eq(compared & (held | last)),
        ]
        with m.FSM():
            with m.State("CHOOSE"):
                m.d.comb += turn.advance.eq(1)
                for k, port in enumerate(self.i):
                    m.d.comb += port.query.ready.eq(turn.grant[k])
                m.d.sync += [
                    query.eq(chosen_query), client.eq(turn.index), index.eq(0), there.eq(0), compared.eq(0),
                ]
                with m.If(turn.requests.any()):
                    m.next = "SEARCH"
            with m.State("SEARCH"):
                m.d.sync += [
                    end.eq(addr + query.bytes),
                    aligned.eq(~(beyond | query.addr[: (self.data_width // 8 - 1).bit_length()].any())),
                    known.eq(query.vp < self.n_vps if self.n_vps < 1 << formats.VP_BITS else 1),
                    there.eq(index != self.n_windows),
                    compared.eq(there),
                    last.eq(index == self.n_windows),
                    above.eq(addr >= look.data.base),
                    below.eq(end <= look.data.limit),
                    allowed.eq(look_enable.data & look.data.rights.bit_select(query.right, 1)),
                ]
                with m.If(index != self.n_windows):
                    m.d.sync += index.eq(index + 1)
                with m.If(over):
                    for k, port in enumerate(self.i):
                        with m.If(client == k):
                            m.d.sync += [port.answer.payload.ok.eq(held), answered[k].eq(1)]
                    m.next = "CHOOSE"
        return m

    def _load(self, m: Module, load: memory.WritePort, load_enable: memory.WritePort) -> None:
        """Loads windows. A commit goes through those of its VP: the first one is the record's, the others have no right
        and so are none.
        """
        vp_bits, index_bits = (self.n_vps - 1).bit_length(), (self.n_windows - 1).bit_length()
        layout = window_layout(self.address_bits)
        commit, record = self.commit, self.commit.payload.record
        swept = Signal(range(self.n_windows + 1))
        closed = Signal()
        m.d.comb += [load_enable.addr.eq(commit.payload.vp), load_enable.data.eq(record.enable & commit.ready)]
        with m.If(commit.valid):
            m.d.comb += [
                load.addr.eq(Cat(swept[:index_bits], commit.payload.vp[:vp_bits])),
                load.en.eq(closed & (swept != self.n_windows) & ~commit.payload.keep),
                load_enable.en.eq(~closed | commit.ready),
                commit.ready.eq(closed & (commit.payload.keep | (swept == self.n_windows))),
            ]
            with m.If(swept == 0):
                m.d.comb += [
                    load.data.base.eq(record.window_base),
                    load.data.limit.eq(record.window_limit),
                    load.data.rights.eq(record.window_rights),
                ]
            m.d.sync += closed.eq(~commit.ready)
            with m.If(closed):
                m.d.sync += swept.eq(swept + 1)
            with m.If(commit.ready):
                m.d.sync += swept.eq(0)
        with m.Else():
            m.d.comb += [
                load.addr.eq(Cat(self.window.payload.index[:index_bits], self.window.payload.vp[:vp_bits])),
                *(load.data[name].eq(self.window.payload.window[name]) for name, _ in layout),
                load.en.eq(self.window.valid),
                self.window.ready.eq(1),
            ]
