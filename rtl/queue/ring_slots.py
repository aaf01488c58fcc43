"""Rings that the NIC writes: completion rings and receive rings."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In

from firmware_models.abi import formats
from rtl.interface import ADDRESS_BITS, ReceiveSlotSignature, check_address_bits
from rtl.queue.records import INDEX_BITS, VpCommit

RING_NAMES = ("cq", "rq")


class RingSlots(wiring.Component):
    """Gives out the entries of one ring of every VP, in order.

    Each answer with `ok` takes an entry. `ok` is 0, and nothing taken, if the VP is not enabled or, with
    `check_room`, if its ring is full.

    Timing: an answer is valid 4 cycles after its query came.

    Parameters
    ----------
    n_vps : int
        Virtual ports, a power of two, at least 2.
    ring : str
        Which ring of the record: ``"cq"`` or ``"rq"``.
    entry_bytes : int
        Bytes of an entry, a power of two.
    check_room : bool
        If true, room follows from the index that software has read up to; otherwise it is known from elsewhere.
    first_index : int
        Indexes after a commit.
    address_bits : int
        Bits of a host address, 32 to 64.

    Members
    -------
    commit : ``In(stream.Signature(VpCommit))``
        Records to load.
    cons : ``In(stream.Signature({vp, index}))``
        Indexes up to which software has read. Only with `check_room`.
    slot : ``In(ReceiveSlotSignature())``
        Client.
    """

    def __init__(
        self, *, n_vps: int, ring: str, entry_bytes: int, check_room: bool, first_index: int = 0,
        address_bits: int = ADDRESS_BITS,
    ):
        if ring not in RING_NAMES:
            raise ValueError(f"ring must be one of {', '.join(RING_NAMES)}, not {ring!r}")
        if entry_bytes < 1 or entry_bytes & (entry_bytes - 1):
            raise ValueError(f"entry_bytes must be a power of two, not {entry_bytes!r}")
        self.n_vps, self.ring, self.entry_bytes = n_vps, ring, entry_bytes
        self.check_room, self.first_index = check_room, first_index
        self.address_bits = check_address_bits(address_bits)
        members = {"commit": In(stream.Signature(VpCommit)), "slot": In(ReceiveSlotSignature())}
        if check_room:
            members["cons"] = In(stream.Signature(data.StructLayout({"vp": formats.VP_BITS, "index": INDEX_BITS})))
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        entry_log2 = (self.entry_bytes - 1).bit_length()
        base_bits = self.address_bits - entry_log2
        ring_layout = data.StructLayout({"enable": 1, "base": base_bits, "log2": 4})
        m.submodules.rings = rings = memory.Memory(shape=ring_layout, depth=self.n_vps, init=[])
        m.submodules.prods = prods = memory.Memory(shape=INDEX_BITS, depth=self.n_vps, init=[])
        ring_load, ring_look = rings.write_port(), rings.read_port()
        prod_store, prod_look = prods.write_port(), prods.read_port()

        commit, slot = self.commit, self.slot
        record = commit.payload.record
        vp = Signal(formats.VP_BITS)
        known = vp < self.n_vps if self.n_vps < 1 << formats.VP_BITS else Const(1)
        m.d.comb += [
            ring_load.data.enable.eq(record.enable),
            ring_load.data.base.eq(record[f"{self.ring}_base"][entry_log2:]),
            ring_load.data.log2.eq(record[f"{self.ring}_log2"]),
        ]
        for port in (ring_load, ring_look, prod_store, prod_look):
            m.d.comb += port.addr.eq(vp)
        m.d.comb += [ring_look.en.eq(1), prod_look.en.eq(1)]

        full = Signal()
        index = prod_look.data
        read_up_to = Signal(INDEX_BITS)
        cons_store = Signal()
        if self.check_room:
            m.submodules.read_indexes = read_indexes = memory.Memory(shape=INDEX_BITS, depth=self.n_vps, init=[])
            cons_write, cons_look = read_indexes.write_port(), read_indexes.read_port()
            m.d.comb += [
                cons_write.addr.eq(vp),
                cons_write.en.eq(cons_store),
                cons_write.data.eq(Mux(self.cons.ready, self.cons.payload.index, self.first_index)),
                cons_look.addr.eq(vp),
                cons_look.en.eq(1),
                read_up_to.eq(cons_look.data),
            ]
        offset = Signal(INDEX_BITS)
        base = Signal(base_bits)
        used = (index - read_up_to)[:INDEX_BITS]
        size = Const(1, 1) << ring_look.data.log2
        answer = slot.answer.payload

        with m.FSM():
            with m.State("CHOOSE"):
                with m.If(commit.valid):
                    m.d.sync += vp.eq(commit.payload.vp)
                    m.next = "COMMIT"
                if self.check_room:
                    with m.Elif(self.cons.valid):
                        m.d.sync += vp.eq(self.cons.payload.vp)
                        m.next = "CONS"
                with m.Elif(slot.query.valid):
                    m.d.comb += slot.query.ready.eq(1)
                    m.d.sync += vp.eq(slot.query.payload.vp)
                    m.next = "LOOK"
            with m.State("COMMIT"):
                m.d.comb += [commit.ready.eq(1), ring_load.en.eq(1), cons_store.eq(1)]
                m.d.comb += [prod_store.en.eq(1), prod_store.data.eq(self.first_index)]
                m.next = "CHOOSE"
            if self.check_room:
                with m.State("CONS"):
                    m.d.comb += [self.cons.ready.eq(1), cons_store.eq(known)]
                    m.next = "CHOOSE"
            with m.State("LOOK"):
                m.next = "PLACE"
            with m.State("PLACE"):
                m.d.sync += [
                    full.eq((used >= size) if self.check_room else 0),
                    answer.ok.eq(ring_look.data.enable & known),
                    answer.phase.eq(~index.bit_select(ring_look.data.log2, 1)),
                    offset.eq(index & (size - 1)),
                    base.eq(ring_look.data.base),
                ]
                m.next = "TAKE"
            with m.State("TAKE"):
                m.d.comb += [prod_store.en.eq(answer.ok & ~full), prod_store.data.eq(index + 1)]
                m.d.sync += [
                    answer.ok.eq(answer.ok & ~full),
                    answer.addr.eq(Cat(Const(0, entry_log2), (base + offset)[:base_bits])),
                ]
                m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += slot.answer.valid.eq(1)
                with m.If(slot.answer.ready):
                    m.next = "CHOOSE"


        return m
