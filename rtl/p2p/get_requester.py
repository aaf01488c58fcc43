"""From GET descriptors to requests."""

from dataclasses import dataclass

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import CplKind, PacketType, Status
from rtl.abi import DescriptorControl, P2pRange, PacketHeader
from rtl.interface import ADDRESS_BITS, PacketSignature
from rtl.kit.round_robin import RoundRobin
from rtl.p2p.p2p_signatures import AwaitedSignature
from rtl.p2p.range_check import BYTES_BITS
from rtl.p2p.records import (
    GET_WINDOW,
    GETS_IN_HAND,
    REQUESTS_UNDER_WAY,
    OperationNumber,
    TrackerCommand,
    booking_layout,
    is_part,
    nonce_of,
)


@dataclass(frozen=True, kw_only=True)
class GetLimits:
    """Bounds of the GETs that one node has begun. A proof makes them small.

    Parameters
    ----------
    in_hand : int
        GETs of which not all has been asked for.
    window, under_way : int
        Fragments that one GET, and all of them, may have asked for and not received.
    remote_bits, index_bits : int
        Bits of an address at another node, and the most of the number of a fragment. In every build it counts all
        fragments of an operation.
    """

    in_hand: int = GETS_IN_HAND
    window: int = GET_WINDOW
    under_way: int = REQUESTS_UNDER_WAY
    remote_bits: int = ADDRESS_BITS
    index_bits: int = BYTES_BITS


EVERY_BUILD = GetLimits()
"""The bounds that every build has."""

KEPT = ("dest_id", "dest_vp", "source_vp", "length", "local_addr", "remote_addr", "tag")
"""Fields of a descriptor that a GET uses."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """A descriptor that is being opened.

    Parameters
    ----------
    number : View
        Number and nonce of its operation.
    desc : View
        The fields that a GET uses.
    waits : Value
        It is not taken in hand in this cycle.
    """

    number: View
    desc: View
    waits: Value


@dataclass(frozen=True, kw_only=True)
class Hand:
    """The operations in hand.

    Parameters
    ----------
    turn : RoundRobin
        Whose turn it is, of those of which a fragment may be asked for.
    taken, failed : Signal
        For each slot: an operation is there; it has failed.
    gives_up : Signal
        The one in `slot` has.
    slot, free : Signal
        Slot of the operation that has its turn; a slot that is free.
    begins : Signal
        An operation takes the slot `free`. Never as one `ends`.
    asks, ends : Signal
        A fragment of the operation in `slot` is asked for; its slot becomes free.
    """

    turn: RoundRobin
    taken: Signal
    failed: Signal
    gives_up: Signal
    slot: Signal
    free: Signal
    begins: Signal
    asks: Signal
    ends: Signal


class GetRequester(wiring.Component):
    """Executes GET descriptors: books the landing, opens the operation, asks for each fragment.

    Up to ``limits.in_hand`` operations are in hand. Those of different nodes take turns, fragment by
    fragment, so that a node which is slow to answer holds up no other; those of one node follow each other, so that the
    first of them has all that the node can send. Of each at most ``limits.window`` fragments are
    asked for and not there yet, and of all of them ``limits.under_way``, so that requests do not
    pile up in the network in front of what others send. It stands beside :class:`rtl.p2p.transmit.P2pTransmit`, which a
    long GET therefore does not hold up.

    A request of an operation of several fragments carries the range of the whole operation as its payload.

    Once an operation has failed no more of it is asked for.

    Timing: a request in four cycles, in five if it carries a range.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    mtu : int
        Largest fragment in bytes.
    n : int
        Entries of the tracker.
    address_bits : int
        Bits of a host address, 32 to 64.
    limits : GetLimits
        Bounds of what is in hand.

    Members
    -------
    i : ``In(stream.Signature({desc}))``
        Checked descriptors, all of them GET; taken while ``room``.
    room : ``Out(1)``
        A descriptor offered now is taken at once.
    i_number : ``In(stream.Signature(OperationNumber))``
        Numbers for operations.
    o_book : ``Out(stream.Signature(booking_layout(address_bits)))``
        Where the data of an operation will go; taken before the operation is opened.
    o_open, o_progress : ``Out(stream.Signature(TrackerCommand))``
        Operations that begin; progress of each fragment, before its request leaves.
    failed : ``In(n)``
        Operations, by entry, of which no more needs to be asked for.
    awaited : ``In(AwaitedSignature(n))``
        Fragments asked for that are not there.
    o : ``Out(PacketSignature(data_width))``
        GET packets, whose only payload is a range.
    node_id : ``In(24)``
        NodeID of this node.
    """

    def __init__(
        self, *, data_width: int, mtu: int, n: int, address_bits: int = ADDRESS_BITS, limits: GetLimits = EVERY_BUILD,
    ):
        self.limits = limits
        self.data_width = data_width
        self.mtu = mtu
        self.n = n
        super().__init__({
            "i": In(stream.Signature(data.StructLayout({"desc": DescriptorControl}))),
            "room": Out(1),
            "i_number": In(stream.Signature(OperationNumber)),
            "o_book": Out(stream.Signature(booking_layout(address_bits))),
            "o_open": Out(stream.Signature(TrackerCommand)),
            "o_progress": Out(stream.Signature(TrackerCommand)),
            "failed": In(n),
            "awaited": In(AwaitedSignature(n)),
            "o": Out(PacketSignature(data_width)),
            "node_id": In(formats.NODE_BITS),
        })

    def elaborate(self, platform):
        m = Module()
        # A descriptor that is being opened; only what a GET uses of it.
        number = Signal(OperationNumber)
        desc = Signal(data.StructLayout({name: formats.DESCRIPTOR[name].width for name in KEPT}))
        # Requests still to be made for the operations in hand, one memory entry each; and those of the operation whose
        # turn it is.
        m.submodules.slots = slots = memory.Memory(shape=self._rest(), depth=self.limits.in_hand, init=[])
        look, put = slots.read_port(), slots.write_port()
        rest = look.data
        hand = self._hold(m, number=number.number, dest=desc.dest_id)

        begun, after, request_left = Signal(self._rest()), Signal(self._rest()), Signal()
        m.d.comb += [
            *(begun[name].eq(desc[name]) for name in ("dest_id", "dest_vp", "source_vp")),
            begun.number.eq(number.number),
            begun.nonce.eq(number.nonce),
            begun.remote.eq(desc.remote_addr),
            begun.left.eq(desc.length),
            begun.index.eq(0),
            after.eq(rest),
            after.remote.eq(rest.remote + self.mtu),
            after.left.eq(rest.left - self.mtu),
            after.index.eq(rest.index + 1),
            put.en.eq(request_left | hand.begins),
            put.addr.eq(Mux(request_left, hand.slot, hand.free)),
            put.data.eq(Mux(request_left, after, begun)),
            look.addr.eq(hand.turn.index),
            look.en.eq(hand.turn.advance),  # what was read stands until the next turn
        ]
        # Two that know little of each other: a descriptor becomes an operation in hand while requests leave.
        self._open(m, hand, Opening(number=number, desc=desc, waits=request_left | hand.ends))
        self._ask(m, hand, rest, request_left)

        return m

    def _open(self, m: Module, hand: Hand, opening: Opening) -> None:
        """Books the landing of descriptors, opens their operations, and takes these in hand."""
        number, desc, opened = opening.number, opening.desc, Signal(TrackerCommand)
        m.d.comb += [
            opened.number.eq(number.number),
            opened.vp.eq(desc.source_vp),
            opened.kind.eq(CplKind.GET),
            opened.bytes.eq(desc.length),
            opened.tag.eq(desc.tag),
            self.o_open.payload.eq(opened),
            self.o_book.payload.number.eq(number.number),
            self.o_book.payload.vp.eq(desc.source_vp),
            self.o_book.payload.node.eq(desc.dest_id),
            self.o_book.payload.peer_vp.eq(desc.dest_vp),
            self.o_book.payload.nonce.eq(number.nonce),
            self.o_book.payload.local.eq(desc.local_addr),
            self.o_book.payload.remote.eq(desc.remote_addr),
            self.o_book.payload.left.eq(desc.length),
            self.o_book.payload.over.eq(0),
        ]
        with m.FSM(name="open_fsm"):
            with m.State("IDLE"):
                m.d.comb += [
                    self.room.eq(self.i_number.valid & ~hand.taken.all()),
                    self.i.ready.eq(self.room),
                    self.i_number.ready.eq(self.i.valid & ~hand.taken.all()),
                ]
                m.d.sync += [
                    *(desc[name].eq(self.i.payload.desc[name]) for name in KEPT),
                    number.eq(self.i_number.payload),
                ]
                with m.If(self.i.valid & self.i.ready):
                    m.next = "BOOK"
            with m.State("BOOK"):
                m.d.comb += self.o_book.valid.eq(1)
                with m.If(self.o_book.ready):
                    m.next = "OPEN"
            with m.State("OPEN"):
                m.d.comb += self.o_open.valid.eq(1)
                with m.If(self.o_open.ready):
                    m.next = "HOLD"
            with m.State("HOLD"):
                with m.If(~opening.waits):
                    m.d.comb += hand.begins.eq(1)
                    m.next = "IDLE"

    def _ask(self, m: Module, hand: Hand, rest: View, request_left: Signal) -> None:
        """Asks for the next fragment of whatever operation in hand has its turn; pulses `request_left` as the request
        leaves.
        """
        # `rest` stands for a cycle before a request is made of it, so these need not wait for the comparison.
        size, final, part = Signal(formats.PACKET_HEADER["length"].width), Signal(), Signal()
        m.d.sync += [
            part.eq((rest.index != 0) | (rest.left > self.mtu)),
            final.eq(rest.left <= self.mtu),
            size.eq(Mux(rest.left <= self.mtu, rest.left, self.mtu)),
        ]
        # Signals of their own, outside of any condition: constant bits next to conditional ones make Verilog that
        # simulators warn about.
        header, progress, stopping = Signal(PacketHeader), Signal(TrackerCommand), Signal()
        operation = Signal(P2pRange)
        m.d.comb += [
            header.type.eq(PacketType.GET),
            header.version.eq(formats.PACKET_VERSION),
            header.fragment.eq(rest.index),
            header.length.eq(Mux(part, self.data_width // 8, 0)),
            is_part(header).eq(part),
            header.dest_id.eq(rest.dest_id),
            header.dest_vp.eq(rest.dest_vp),
            header.source_vp.eq(rest.source_vp),
            header.source_id.eq(self.node_id),
            header.pulse.eq(size),
            header.tag.eq(rest.number),
            nonce_of(header).eq(rest.nonce),
            header.addr.eq(rest.remote),
            self.o.header.payload.eq(header),
            operation.before.eq(rest.index << (self.mtu.bit_length() - 1)),
            operation.left.eq(rest.left),
            self.o.payload.payload.data.eq(operation),
            self.o.payload.payload.last.eq(1),
            progress.number.eq(rest.number),
            progress.sent.eq(~stopping),
            progress.final.eq(final | stopping),
            progress.status.eq(Status.OK),
            self.o_progress.payload.eq(progress),
            hand.ends.eq(final & request_left),
        ]
        with m.FSM(name="ask_fsm"):
            with m.State("CHOOSE"):
                m.d.comb += hand.turn.advance.eq(1)
                m.d.sync += [
                    hand.slot.eq(hand.turn.index),
                    hand.gives_up.eq((hand.turn.grant & hand.failed).any()),
                ]
                with m.If(hand.turn.requests.any()):
                    m.next = "MEASURE"
            with m.State("MEASURE"):
                m.next = "TELL"
                with m.If(hand.gives_up):
                    m.next = "STOP"
            with m.State("STOP"):
                m.d.comb += [stopping.eq(1), self.o_progress.valid.eq(1)]
                with m.If(self.o_progress.ready):
                    m.d.comb += hand.ends.eq(1)
                    m.next = "CHOOSE"
            with m.State("TELL"):
                m.d.comb += self.o_progress.valid.eq(1)
                with m.If(self.o_progress.ready):
                    m.d.comb += hand.asks.eq(1)
                    m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += [self.o.header.valid.eq(1), request_left.eq(self.o.header.ready & ~part)]
                with m.If(self.o.header.ready):
                    m.next = "CHOOSE"
                    with m.If(part):
                        m.next = "RANGE"
            with m.State("RANGE"):
                m.d.comb += [self.o.payload.valid.eq(1), request_left.eq(self.o.payload.ready)]
                with m.If(self.o.payload.ready):
                    m.next = "CHOOSE"

    def _rest(self) -> data.StructLayout:
        """Returns the layout of the part of an operation that is still to be asked for."""
        return data.StructLayout({
            **dict(OperationNumber.members),
            **{name: formats.DESCRIPTOR[name].width for name in ("dest_id", "dest_vp", "source_vp")},
            "remote": self.limits.remote_bits,
            "left": 32,
            "index": min(self.limits.index_bits, BYTES_BITS - (self.mtu.bit_length() - 1)),
        })

    def _hold(self, m: Module, *, number: Signal, dest: Signal) -> Hand:
        """Holds the operations in hand, and counts the fragments that each awaits. One that begins is operation
        `number`, of node `dest`.
        """
        in_hand, window = self.limits.in_hand, self.limits.window
        m.submodules.turn = turn = RoundRobin(n=in_hand)
        hand = Hand(
            turn=turn, taken=Signal(in_hand, name="taken"), failed=Signal(in_hand, name="in_hand_failed"),
            gives_up=Signal(name="gives_up"), slot=Signal(range(in_hand), name="slot"),
            free=Signal(range(in_hand), name="free"), begins=Signal(name="begins"), asks=Signal(name="asks"),
            ends=Signal(name="ends"),
        )
        may_ask = Signal()
        m.d.comb += may_ask.eq(self.awaited.count < self.limits.under_way)
        for k in reversed(range(in_hand)):
            with m.If(~hand.taken[k]):
                m.d.comb += hand.free.eq(k)
        freed = Signal(in_hand)
        m.d.comb += freed.eq(Mux(hand.ends, 1 << hand.slot, 0))
        m.d.sync += hand.taken.eq((hand.taken & ~freed) | Mux(hand.begins, 1 << hand.free, 0))
        nodes = [Signal(formats.NODE_BITS, name=f"node_{k}") for k in range(in_hand)]
        rivals = Cat(node == dest for node in nodes) & hand.taken
        for k in range(in_hand):
            entry, before = Signal(range(self.n), name=f"entry_{k}"), Signal(in_hand, name=f"before_{k}")
            waiting = Signal(range(window + 1), name=f"waiting_{k}")
            m.d.comb += [
                hand.failed[k].eq(self.failed.bit_select(entry, 1)),
                turn.requests[k].eq(
                    hand.taken[k] & (hand.failed[k] | (may_ask & (waiting != window) & (before == 0)))
                ),
            ]
            m.d.sync += [
                before.eq(before & ~freed),
                waiting.eq(waiting + (hand.asks & (hand.slot == k)) - (
                    self.awaited.landed & hand.taken[k] & (self.awaited.entry == entry)
                )),
            ]
            with m.If(hand.begins & (hand.free == k)):
                m.d.sync += [entry.eq(number), nodes[k].eq(dest), waiting.eq(0), before.eq(rivals)]
        return hand
