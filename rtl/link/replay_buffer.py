"""Flits of a reliable link's sender, kept until the other end has acknowledged them."""

from dataclasses import dataclass

from amaranth import Cat, Module, Mux, ResetSignal, Signal, Value
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi.wire import POSITION_BITS
from rtl.interface import flit
from rtl.kit.memory import BlockMemory
from rtl.kit.round_robin import RoundRobin
from rtl.link.frame_signatures import CreditedFlitsSignature, LinkStandingSignature, notice_layout
from rtl.link.wire import N_VCS


def position_bits(replay_flits: int) -> int:
    """Bits in which flits are numbered: of two buffers' flits none have the same number.

    Raises
    ------
    ValueError
        If the control word has no room for them, or the buffer is no power of two.
    """
    most = 1 << (POSITION_BITS - 1)
    if not isinstance(replay_flits, int) or not 2 <= replay_flits <= most or replay_flits & (replay_flits - 1):
        raise ValueError(f"replay_flits must be a power of two from 2 to {most}, not {replay_flits!r}")
    return replay_flits.bit_length()


@dataclass(frozen=True, kw_only=True)
class Ring:
    """Ring of one channel.

    Parameters
    ----------
    put, following, oldest : Signal
        Number of the flit that comes next; of the one that is sent next after this cycle; of the oldest one that is
        not acknowledged.
    freed : Signal
        Flits whose room at the other end is free again.
    moved : Signal
        By so many flits the numbers jump in this cycle.
    drains, dropped, drops : Value
        The channel is drained; a flit is thrown away as it comes; it is the last one of its packet.
    """

    put: Signal
    following: Signal
    oldest: Signal
    freed: Signal
    moved: Signal
    drains: Signal
    dropped: Value
    drops: Value


class ReplayBuffer(wiring.Component):
    """A ring of flits for each of the two channels: flits come in, are sent once or more often, and are acknowledged.

    Flits are numbered from reset on, modulo twice the size of the ring. Sending goes back to the oldest flit that is
    not acknowledged, which is the first one of a packet, if the other end asks for it (`replay`) or on `back`.

    Credits of the other end's buffer are handed on only as far as the ring has room for what they allow to send, so it
    takes whatever comes.

    If the link is `dead`, each channel is drained: what is kept is thrown away, a flit a cycle, and what comes is not
    kept; credits return for both as if they had been sent and had left. It goes on with the packet that comes next once
    the link is up, the other end has reported how far it got, and that all its room is free: from that number on.

    Timing: a flit can be sent in the cycle after it came.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    marked : bool
        If true, flits have the mark `bad`.
    buffer_flits : int
        Flits that the other end's receiver holds for each channel.
    replay_flits : int
        Flits that the ring of a channel holds; a power of two, at least `buffer_flits`.

    Members
    -------
    i : ``In(CreditedFlitsSignature(data_width))``
        Flits that come.
    notice : ``In(stream.Signature(notice_layout(bits), always_ready=True))``
        Notices of the other end.
    link : ``In(LinkStandingSignature())``
        Standing of the link.
    back : ``In(2)``
        For each channel: send again from what is acknowledged on.
    ahead : ``In(1)``
        The channel whose next flit is wanted in the next cycle.
    o : ``Out``
        That flit.
    sends : ``In(1)``
        It is sent.
    available : ``Out(2)``
        For each channel: there is a flit that can be sent.
    position : array of 2 ``Out``
        The number of the next flit to be sent.
    jumps : ``Out(2)``
        For each channel: `position` becomes another one than the next.
    waits : ``Out(2)``
        For each channel: a packet has been sent and is not acknowledged yet.
    progress : ``Out(2)``
        For each channel: packets are acknowledged now.
    wrong : ``Out(1)``
        What is acknowledged was never sent: the other end has been reset alone.
    drains : ``Out(2)``
        For each channel: it is drained.
    lost : ``Out(2)``
        Pulses: a packet has been thrown away that was kept; one that came.
    """

    def __init__(self, *, data_width: int, buffer_flits: int, replay_flits: int, marked: bool = True):
        bits = position_bits(replay_flits)
        if not isinstance(buffer_flits, int) or not 1 <= buffer_flits <= replay_flits:
            raise ValueError(f"buffer_flits must be from 1 to replay_flits ({replay_flits}), not {buffer_flits!r}")
        self.bits, self.buffer_flits, self.replay_flits, self.marked = bits, buffer_flits, replay_flits, marked
        self.shape = flit(data_width, marked=True)
        # The mark stands in the memory only if there can be one.
        self.kept = data.StructLayout({"data": data_width, "last": 1, **({"bad": 1} if marked else {})})
        super().__init__({
            "i": In(CreditedFlitsSignature(data_width)),
            "notice": In(stream.Signature(notice_layout(bits), always_ready=True)), "link": In(LinkStandingSignature()),
            "back": In(N_VCS), "ahead": In(1), "o": Out(self.shape), "sends": In(1),
            "available": Out(N_VCS), "position": Out(bits).array(N_VCS), "jumps": Out(N_VCS),
            "waits": Out(N_VCS), "progress": Out(N_VCS), "wrong": Out(1),
            "drains": Out(N_VCS), "lost": Out(2),
        })

    def elaborate(self, platform):
        m = Module()
        at, ahead, walks = Signal(), Signal(), Signal()
        m.d.sync += at.eq(ahead)
        m.d.comb += self.o.vc.eq(at)
        rings = [self._ring(m, vc, at, walks) for vc in range(N_VCS)]
        self._empty(m, rings, ahead, walks)
        self._keep(m, rings, ahead)
        self._credit(m, rings)
        return m

    def _empty(self, m: Module, rings: list[Ring], ahead: Signal, walks: Signal) -> None:
        """Throws away what drained channels keep; nothing is sent meanwhile. In a cycle of `walks` a flit goes."""
        left = Signal(N_VCS, name="still_left")
        m.d.comb += [
            left.eq(Cat(ring.drains & (ring.following != ring.put) for ring in rings)),
            ahead.eq(Mux(left.any(), ~left[0], self.ahead)),
            self.drains.eq(Cat(ring.drains for ring in rings)),
            self.link.empties.eq((self.link.dead & ~self.drains.all()) | walks | left.any()),
            self.lost[0].eq(walks & self.o.last), self.lost[1].eq(Cat(ring.drops for ring in rings).any()),
        ]
        m.d.sync += walks.eq(left.any())

    def _ring(self, m: Module, vc: int, at: Signal, walks: Signal) -> Ring:
        """Moves the pointers of one channel."""
        def pointer(name: str) -> Signal:
            return Signal(self.bits, name=f"{name}_{vc}")

        put, sent, oldest, whole = pointer("put"), pointer("sent"), pointer("oldest"), pointer("whole")
        following, target = pointer("following"), pointer("target")
        departs, acknowledges, taken, jumps = (
            Signal(name=f"{name}_{vc}") for name in ("departs", "acknowledges", "taken", "jumps")
        )
        arrives, drains, inside, leaves = (
            Signal(name=f"{name}_{vc}") for name in ("arrives", "drains", "inside", "leaves")
        )
        notice = self.notice.payload
        m.d.comb += arrives.eq(self.i.valid & (self.i.flit.vc == vc))
        with m.If(arrives):
            m.d.sync += inside.eq(~self.i.flit.last)
        with m.If(arrives & ~drains):
            m.d.sync += put.eq(put + 1)

        acknowledged = (notice.value - oldest)[:self.bits]
        behind = (sent - oldest)[:self.bits] < acknowledged
        m.d.comb += [
            departs.eq((self.sends | walks) & (at == vc)),
            following.eq(sent + departs),
            acknowledges.eq(self.notice.valid & (notice.about == vc) & ~notice.is_credit),
            taken.eq(acknowledges & ~drains & (acknowledged <= (put - oldest)[:self.bits])),
            target.eq(Mux(taken, notice.value, oldest)),
            # Flits that have been acknowledged meanwhile are not sent again.
            jumps.eq(self.back[vc] & ~drains | taken & (notice.replay | behind)),
            self.jumps[vc].eq(jumps | leaves), self.position[vc].eq(sent),
            self.available[vc].eq((sent != put) & ~drains),
            self.waits[vc].eq(whole != oldest), self.progress[vc].eq(taken & (acknowledged != 0)),
        ]
        m.d.sync += [oldest.eq(target), sent.eq(following)]
        with m.If(departs & self.o.last):
            m.d.sync += whole.eq(following)
        with m.If(jumps):
            m.d.sync += [sent.eq(target), whole.eq(target)]
        with m.If(acknowledges & ~taken & ~drains):
            m.d.comb += self.wrong.eq(1)

        # While a channel is drained nothing of it waits to be acknowledged; it goes on where the other end says.
        with m.If(drains):
            m.d.sync += [oldest.eq(following), whole.eq(following)]
        with m.If(leaves):
            m.d.sync += [pointer.eq(notice.value) for pointer in (put, sent, oldest, whole)]
        with m.If(self.link.dead):
            m.d.sync += drains.eq(1)
        with m.Elif(leaves):
            m.d.sync += drains.eq(0)
        freed, ended, moved = pointer("freed"), Signal(name=f"ended_{vc}"), pointer("moved")
        m.d.comb += [
            ended.eq(Mux(arrives, self.i.flit.last, ~inside)), moved.eq(Mux(leaves, acknowledged, 0)),
            leaves.eq(drains & self.link.up & ~self.link.empties & acknowledges & ended & (notice.value == freed)),
        ]
        return Ring(
            put=put, following=following, oldest=oldest, drains=drains, drops=arrives & drains & self.i.flit.last,
            dropped=arrives & drains, moved=moved, freed=freed,
        )

    def _keep(self, m: Module, rings: list[Ring], ahead: Signal) -> None:
        """Keeps the flits of both rings, and beside their memory the one that came last, which that does not show yet.
        """
        m.submodules.store = store = BlockMemory(shape=self.kept, depth=N_VCS * self.replay_flits)
        address_bits = self.bits - 1

        def address(vc: Signal, pointers: list[Signal]) -> Signal:
            return Mux(vc, self.replay_flits + pointers[1][:address_bits], pointers[0][:address_bits])

        fresh, passes_by = Signal(self.kept), Signal()
        shown = Mux(passes_by, fresh.as_value(), store.read_data)
        m.d.comb += [
            store.write_enable.eq(self.i.valid),
            store.write_address.eq(address(self.i.flit.vc, [ring.put for ring in rings])),
            [store.write_data[name].eq(self.i.flit[name]) for name in self.kept.members],
            store.read_enable.eq(1),
            store.read_address.eq(address(ahead, [ring.following for ring in rings])),
            [self.o[name].eq(self.kept(shown)[name]) for name in self.kept.members],
        ]
        m.d.sync += [
            fresh.eq(store.write_data),
            passes_by.eq(store.write_enable & (store.write_address == store.read_address)),
        ]

    def _credit(self, m: Module, rings: list[Ring]) -> None:
        """Hands on credits: as the other end has reported them, as far as there is room."""
        m.submodules.turn = turn = RoundRobin(n=N_VCS)
        m.d.comb += turn.advance.eq(1)
        notice, spare = self.notice.payload, self.replay_flits - self.buffer_flits
        for vc, ring in enumerate(rings):
            freed, given, due = ring.freed, Signal(self.bits, name=f"given_{vc}"), Signal(self.bits, name=f"due_{vc}")
            with m.If(self.notice.valid & notice.is_credit & (notice.about == vc)):
                m.d.sync += freed.eq(notice.value)
            # Of a channel that is drained flits have left when they have been thrown away. More may be given already.
            m.d.comb += [due.eq(ring.oldest - given), turn.requests[vc].eq(Mux(
                ring.drains, (due != 0) & (due <= self.buffer_flits),
                (given != freed) & (given != (ring.oldest + spare)[:self.bits]),
            ))]
            m.d.sync += [
                given.eq(given + turn.grant[vc] - ring.dropped + ring.moved),
                Assert(
                    ResetSignal(allow_reset_less=True) | ((ring.put - ring.oldest)[:self.bits] <= self.replay_flits),
                    "link: more flits are kept than there is room for\n",
                ),
            ]
        m.d.sync += [self.i.credit_valid.eq(turn.requests.any()), self.i.credit_vc.eq(turn.grant[1])]
