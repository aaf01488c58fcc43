"""The records of the virtual ports."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from rtl.interface import ADDRESS_BITS, ReceiveSlotSignature, WindowSignature, check_address_bits
from rtl.queue.records import (
    FETCH_BATCH,
    INDEX_BITS,
    WINDOW_BITS,
    Doorbell,
    DoorbellKind,
    VpCommit,
    WindowCommit,
)
from rtl.queue.ring_slots import RingSlots
from rtl.queue.turn_signature import TurnSignature
from rtl.queue.turn_table import TurnTable
from rtl.queue.window_check import WindowCheck


class VpTable(wiring.Component):
    """State of every VP, kept where it is used: rings by turn, rings by slot, windows.

    After reset the table disables every VP, one after the other; commits, windows and doorbells wait for that. A commit
    is to be made while the VP has no operation in progress. Doorbells of a disabled VP have no effect.

    Parameters
    ----------
    n_vps : int
        Virtual ports, a power of two, 2 to 2048.
    data_width : int
        Bits of a flit.
    n_windows : int
        Memory windows of each VP, a power of two, 1 to 64.
    n_clients : int
        Clients of the window check, at least 1.
    retry_cycles : int
        Pause between turns while none of the VPs can go on.
    first_index : int
        All ring indexes after a commit. The register map says 0; benches begin close to the wrap.
    address_bits : int
        Bits of a host address, 32 to 64: what records and windows have beyond them is forgotten.
    batch : int
        Most descriptors that the descriptor queue fetches at once.

    Members
    -------
    enable : ``In(1)``
        No turn begins while 0.
    cycles : ``In(32)``
        Time: cycles since the last reset.
    retry_limit : ``In(32)``
        Cycles for which a unit may wait for room at its target; 0: forever.
    commit : ``In(stream.Signature(VpCommit))``, doorbell : ``In(stream.Signature(Doorbell))``
        From the register file, for VPs below `n_vps`.
    window : ``In(stream.Signature(WindowCommit))``
        Windows to register or withdraw, of VPs below `n_vps` and windows below `n_windows`.
    turn : ``Out(TurnSignature(address_bits))``
        Descriptor queue.
    completion : ``In(ReceiveSlotSignature())``
        Completion queue: entries of completion rings. Room is not checked, for a turn has reserved it.
    receive : ``In(ReceiveSlotSignature())``
        Receive queues.
    windows : array of n_clients ``In(WindowSignature())``
        Window checks.
    busy : ``Out(1)``
        Descriptors are served, and a VP has unread ones.
    """

    def __init__(
        self, *, n_vps: int, data_width: int, n_windows: int, n_clients: int, retry_cycles: int = 32,
        first_index: int = 0, address_bits: int = ADDRESS_BITS, batch: int = FETCH_BATCH,
    ):
        if n_vps & (n_vps - 1) or not 2 <= n_vps <= 1 << formats.VP_BITS:
            raise ValueError(f"n_vps must be a power of two, 2 to {1 << formats.VP_BITS}, not {n_vps!r}")
        if n_windows & (n_windows - 1) or not 1 <= n_windows <= 1 << WINDOW_BITS:
            raise ValueError(f"n_windows must be a power of two, 1 to {1 << WINDOW_BITS}, not {n_windows!r}")
        if n_clients < 1:
            raise ValueError(f"n_clients must be at least 1, not {n_clients!r}")
        if not 0 <= first_index < 1 << INDEX_BITS:
            raise ValueError(f"first_index must be 0 to {(1 << INDEX_BITS) - 1}, not {first_index!r}")
        self.n_vps, self.data_width, self.n_windows = n_vps, data_width, n_windows
        self.n_clients, self.address_bits = n_clients, check_address_bits(address_bits)
        self.retry_cycles, self.first_index, self.batch = retry_cycles, first_index, batch
        super().__init__({
            "enable": In(1),
            "cycles": In(32),
            "retry_limit": In(32),
            "commit": In(stream.Signature(VpCommit)),
            "doorbell": In(stream.Signature(Doorbell)),
            "window": In(stream.Signature(WindowCommit)),
            "turn": Out(TurnSignature(address_bits)),
            "completion": In(ReceiveSlotSignature()),
            "receive": In(ReceiveSlotSignature()),
            "windows": In(WindowSignature()).array(n_clients),
            "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.turns = turns = TurnTable(
            n_vps=self.n_vps, retry_cycles=self.retry_cycles, first_index=self.first_index,
            address_bits=self.address_bits, batch=self.batch,
        )
        m.submodules.completions = completions = RingSlots(
            n_vps=self.n_vps, ring="cq", entry_bytes=formats.COMPLETION.bytes, check_room=False,
            first_index=self.first_index, address_bits=self.address_bits,
        )
        m.submodules.receives = receives = RingSlots(
            n_vps=self.n_vps, ring="rq", entry_bytes=formats.RECEIVE.bytes, check_room=True,
            first_index=self.first_index, address_bits=self.address_bits,
        )
        m.submodules.window_check = window_check = WindowCheck(
            n_vps=self.n_vps, n_windows=self.n_windows, n=self.n_clients, data_width=self.data_width,
            address_bits=self.address_bits,
        )
        connect(m, flipped(self.turn), turns.turn)
        connect(m, flipped(self.completion), completions.slot)
        connect(m, flipped(self.receive), receives.slot)
        for k in range(self.n_clients):
            connect(m, flipped(self.windows[k]), window_check.i[k])
        m.d.comb += [
            turns.enable.eq(self.enable), turns.cycles.eq(self.cycles), turns.retry_limit.eq(self.retry_limit),
            self.busy.eq(self.enable & turns.busy),
        ]

        # Memories keep their contents through a reset, so every record is wiped before the first commit.
        wiping = Signal(init=1)
        wipe_vp = Signal(range(self.n_vps))
        commit = Signal(VpCommit)
        with m.If(wiping):
            m.d.comb += [commit.vp.eq(wipe_vp), commit.wipe.eq(1)]
        with m.Else():
            m.d.comb += commit.eq(self.commit.payload)

        # Each part takes the record when it can; the commit ends when all have.
        parts = (turns, completions, receives, window_check)
        loaded, loading = Signal(len(parts)), Signal(len(parts))
        done = Signal()
        for k, part in enumerate(parts):
            m.d.comb += [
                part.commit.payload.eq(commit),
                part.commit.valid.eq((wiping | self.commit.valid) & ~loaded[k]),
                loading[k].eq(part.commit.valid & part.commit.ready),
            ]
        m.d.comb += [done.eq(loaded.all()), self.commit.ready.eq(done & ~wiping)]
        m.d.sync += loaded.eq(loaded | loading)
        with m.If(done):
            m.d.sync += loaded.eq(0)
            with m.If(wiping):
                m.d.sync += [wipe_vp.eq(wipe_vp + 1), wiping.eq(wipe_vp != self.n_vps - 1)]

        m.d.comb += [
            window_check.window.payload.eq(self.window.payload),
            window_check.window.valid.eq(self.window.valid & ~wiping),
            self.window.ready.eq(window_check.window.ready & ~wiping),
        ]

        bell = self.doorbell
        m.d.comb += [
            turns.doorbell.payload.eq(bell.payload),
            receives.cons.payload.vp.eq(bell.payload.vp),
            receives.cons.payload.index.eq(bell.payload.index),
        ]
        with m.If(~wiping):
            with m.If(bell.payload.kind == DoorbellKind.RQ_CONS):
                m.d.comb += [receives.cons.valid.eq(bell.valid), bell.ready.eq(receives.cons.ready)]
            with m.Else():
                m.d.comb += [turns.doorbell.valid.eq(bell.valid), bell.ready.eq(turns.doorbell.ready)]


        return m
