"""GETs of a node: each fragment is asked for once and in order; those of one node follow each other."""

from amaranth import Cat, Module, Mux, Signal

from firmware_models.abi.encoding import PacketType
from rtl.p2p.range_check import BYTES_BITS
from rtl.p2p.records import is_part as is_part_of
from testbench.formal.contract import Contract
from testbench.formal.contracts.get_environment import NONCE_BITS, NUMBER_BITS, Operations

ENTRIES = 4
MTU = 64
FIELDS = {
    "dest_id": 1, "dest_vp": 1, "source_vp": 1, "length": 8, "local_addr": 1, "remote_addr": 7, "tag": 1,
}
"""Bits of what a descriptor has: up to four fragments of one of two nodes."""
REMOTE_BITS = 9
INDEX_BITS = 3
TAKEN_WITHIN = 6
"""Cycles until a descriptor for which there is a place is taken, those not counted in which others hold it up."""


class GetRequesterContract(Contract):
    """:class:`~rtl.p2p.get_requester.GetRequester`. One operation, any one, is followed; others do anything beside it.

    Parameters
    ----------
    in_hand, window, under_way : int
        :class:`~rtl.p2p.get_requester.GetLimits`.
    bound : int
        Cycles in which it may ask and is not held up, until it does.
    """

    def __init__(self, *, in_hand: int, window: int, under_way: int, bound: int):
        super().__init__()
        self.in_hand, self.window, self.under_way, self.bound = in_hand, window, under_way, bound

    def build(self, m: Module) -> None:
        from rtl.p2p.get_requester import GetLimits, GetRequester

        # A few bits distinguish as many cases as more bits would, and let the search get far.
        limits = GetLimits(
            in_hand=self.in_hand, window=self.window, under_way=self.under_way, remote_bits=REMOTE_BITS,
            index_bits=INDEX_BITS,
        )
        m.submodules.unit = self.unit = unit = GetRequester(data_width=64, mtu=MTU, n=ENTRIES, limits=limits)
        self._descriptors(m)
        m.d.comb += unit.node_id.eq(self.constant(len(unit.node_id), "node_id"))
        for port, name in (
            (unit.o_book, "book"), (unit.o_open, "open"), (unit.o_progress, "progress"), (unit.o.header, "header"),
            (unit.o.payload, "payload"),
        ):
            m.d.comb += port.ready.eq(self.free(1, f"{name}_ready"))
            stalled, shown = Signal(name=f"{name}_stalled"), Signal(len(port.payload.as_value()), name=f"{name}_shown")
            m.d.sync += [stalled.eq(port.valid & ~port.ready), shown.eq(port.payload.as_value())]
            self.check(~stalled | port.valid & (port.payload.as_value() == shown))
        self.operations = Operations(self, m, unit, window=self.window)

        self._bounds(m)
        self._follow(m)
        self._order(m)
        self._progress(m)

    def _descriptors(self, m: Module) -> None:
        """Any descriptor at any time, offered until it is taken; of each field as many bits as make a difference."""
        port = self.unit.i
        self.desc = desc = port.payload.desc
        valid, stalled = self.free(1, "desc"), Signal()
        m.d.comb += port.valid.eq(valid)
        m.d.sync += stalled.eq(valid & ~port.ready)
        self.assume(~stalled | valid)
        for name, bits in FIELDS.items():
            value, before = self.free(bits, f"desc_{name}"), Signal(bits, name=f"desc_{name}_before")
            m.d.comb += desc[name].eq(value)
            m.d.sync += before.eq(value)
            self.assume(~stalled | (value == before))
        self.assume(desc.length != 0)

    def _bounds(self, m: Module) -> None:
        """Of all operations: what is announced belongs to one that is open, and there is never too much under way."""
        unit, operations = self.unit, self.operations
        going = operations.opened & ~operations.closed & operations.taken
        self.check(operations.comes == (unit.i_number.valid & unit.i_number.ready))
        self.check(~(unit.i.valid & unit.room) | unit.i.ready)
        self.check(~unit.o_progress.valid | going.bit_select(operations.announced_entry, 1))
        # One request may have been announced and not be counted yet when the next one is decided on.
        self.check(operations.waiting + operations.uncounted <= self.under_way + 1)
        for awaited in operations.awaited:
            self.check(awaited <= self.window)
        stuck_entry = operations.announced_number[:operations.bits]
        too_late = operations.stuck & operations.released & (operations.released_entry == stuck_entry)
        self.reach(too_late, "the time of one is over while its last request is held up")

    def _follow(self, m: Module) -> None:
        """The one that is followed: booked, opened, asked for fragment by fragment, each announced and sent once."""
        unit, operations, desc = self.unit, self.operations, self.desc
        self.following, self.begins = Signal(), Signal()
        self.number, self.kept = Signal(NUMBER_BITS), Signal(desc.shape())
        nonce = Signal(NONCE_BITS)
        self.entry = self.number[:operations.bits]
        self.booked, self.opened, self.closed, self.asked = (
            Signal(name=f"its_{name}") for name in ("booked", "opened", "closed", "asked")
        )
        over, index, left, remote = Signal(), Signal(INDEX_BITS), Signal(FIELDS["length"] + 1), Signal(REMOTE_BITS)
        m.d.comb += self.begins.eq(operations.comes & self.free(1, "pick") & ~self.following)
        with m.If(self.begins):
            m.d.sync += [
                self.following.eq(1), self.number.eq(operations.number), nonce.eq(operations.nonce),
                self.kept.eq(desc), left.eq(desc.length),
                remote.eq(desc.remote_addr), index.eq(0), over.eq(0),
                *(flag.eq(0) for flag in (self.booked, self.opened, self.closed, self.asked)),
            ]

        booking = unit.o_book.payload
        mine = self.following & ~over & unit.o_book.valid & (booking.number == self.number)
        self.check(~mine | ~self.booked & (booking.vp == self.kept.source_vp) & (booking.node == self.kept.dest_id))
        self.check(~mine | (booking.local == self.kept.local_addr) & (booking.remote == self.kept.remote_addr))
        self.check(~mine | (booking.left == self.kept.length) & ~booking.over)
        self.check(~mine | (booking.peer_vp == self.kept.dest_vp) & (booking.nonce == nonce))
        with m.If(mine & unit.o_book.ready):
            m.d.sync += self.booked.eq(1)

        opening = unit.o_open.payload
        mine = self.following & ~over & unit.o_open.valid & (opening.number == self.number)
        self.check(~mine | self.booked & ~self.opened & (opening.vp == self.kept.source_vp))
        self.check(~mine | (opening.bytes == self.kept.length) & (opening.tag == self.kept.tag))
        with m.If(mine & unit.o_open.ready):
            m.d.sync += self.opened.eq(1)

        # The next fragment is announced, then its request leaves. Once the operation has failed it ends without one.
        announcing = unit.o_progress.payload
        last = left <= MTU
        mine = self.following & ~over & unit.o_progress.valid & (announcing.number[:operations.bits] == self.entry)
        self.check(~mine | (announcing.number == self.number) & self.opened & ~self.closed & ~self.asked)
        self.check(~mine | Mux(announcing.sent, announcing.final == last, announcing.final))
        self.check(~mine | announcing.sent | operations.failed.bit_select(self.entry, 1))
        self.announces = mine & unit.o_progress.ready
        with m.If(self.announces):
            m.d.sync += [self.asked.eq(announcing.sent), self.closed.eq(announcing.final)]

        from rtl.p2p.records import nonce_of

        header = unit.o.header.payload
        mine = self.following & unit.o.header.valid & (header.tag == self.number)
        self.check(~mine | self.asked & (header.type == PacketType.GET) & (header.source_id == unit.node_id))
        self.check(~mine | (header.dest_id == self.kept.dest_id) & (header.dest_vp == self.kept.dest_vp))
        self.check(~mine | (header.source_vp == self.kept.source_vp) & (header.addr == remote))
        self.check(~mine | (nonce_of(header) == nonce))
        self.check(~mine | (header.fragment == index) & (header.pulse == Mux(last, left, MTU)))
        # A request of several carries the range of the whole.
        is_part, beat = self.kept.length > MTU, unit.o.payload
        self.check(~mine | (is_part_of(header) == is_part) & (header.length == Mux(is_part, unit.data_width // 8, 0)))
        ranged = self.following & beat.valid & (operations.ranged_number == self.number)
        self.check(~ranged | beat.payload.last & (beat.payload.data[:BYTES_BITS] == index * MTU))
        self.check(~ranged | (beat.payload.data[BYTES_BITS:] == left))
        leaves = mine & unit.o.header.ready & ~is_part | ranged & beat.ready
        with m.If(leaves):
            m.d.sync += [self.asked.eq(0), left.eq(left - MTU), remote.eq(remote + MTU), index.eq(index + 1)]

        # It is followed until its entry is free again and its last request has left.
        with m.If(operations.released & (operations.released_entry == self.entry) & self.following):
            m.d.sync += over.eq(1)
        with m.If(over & ~self.asked):
            m.d.sync += self.following.eq(0)
        self.reach(leaves & last & (index == 1), "a second fragment, the last one")

    def _order(self, m: Module) -> None:
        """Of what came later, none that asks the same node is asked for before the last fragment of this one."""
        operations = self.operations
        later, before, same = Signal(ENTRIES), Signal(ENTRIES), Signal(ENTRIES)
        m.d.comb += same.eq(Cat(node == self.kept.dest_id for node in operations.dest))
        dest = self.desc.dest_id
        for k in range(ENTRIES):
            comes = operations.comes & (operations.entry == k)
            with m.If(self.begins):
                m.d.sync += [
                    later[k].eq(0),
                    before[k].eq(operations.taken[k] & (operations.dest[k] == dest) & ~self._ends(k)),
                ]
            with m.Elif(self.following & comes):
                m.d.sync += later[k].eq(1)
            with m.If(~self.begins & self._ends(k)):
                m.d.sync += before[k].eq(0)
        self.before = before
        entry, goes_on = operations.announced_entry, self.following & ~self.closed
        rivals = operations.announced & (later & same).bit_select(entry, 1)
        others = operations.announced & ~same.bit_select(entry, 1)
        self.check(~(goes_on & rivals))
        self.reach(goes_on & self.opened & others, "another node has its turn before the last fragment")
        self.reach(rivals, "one of the same node follows")

    def _ends(self, k: int) -> Signal:
        operations = self.operations
        return operations.closed[k] | operations.closes & (operations.announced_entry == k)

    def _progress(self, m: Module) -> None:
        """Checks progress: fragments that may be asked for are asked for, and operations that may be taken are taken.
        """
        unit, operations = self.unit, self.operations
        failed, awaited = operations.failed.bit_select(self.entry, 1), operations.of(m, operations.awaited, self.entry)
        may = failed | (operations.waiting < self.under_way) & (awaited < self.window) & ~self.before.any()
        outputs = (unit.o_progress, unit.o.header, unit.o.payload)
        stalled = Cat(port.valid & ~port.ready for port in outputs).any()
        patience = Signal(range(self.bound + 2))
        with m.If(~self.following | ~self.opened | self.closed | self.asked | self.announces | ~may):
            m.d.sync += patience.eq(0)
        with m.Elif(~stalled):
            m.d.sync += patience.eq(patience + 1)
        self.check(patience <= self.bound)

        going = sum(operations.taken[k] & ~operations.closed[k] for k in range(ENTRIES))
        stalled = stalled | Cat(port.valid & ~port.ready for port in (unit.o_book, unit.o_open)).any()
        ignored = Signal(range(TAKEN_WITHIN + 2))
        with m.If(~(unit.i.valid & unit.i_number.valid) | unit.i.ready | (going >= self.in_hand)):
            m.d.sync += ignored.eq(0)
        with m.Elif(~stalled):
            m.d.sync += ignored.eq(ignored + 1)
        self.check(ignored <= TAKEN_WITHIN)
        self.reach((awaited == self.window) & (going == self.in_hand), "a full window, and all places taken")
