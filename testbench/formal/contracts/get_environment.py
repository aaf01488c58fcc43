"""Environment of a requester of GETs: a tracker, and the nodes that answer."""

from typing import Any

from amaranth import Module, Mux, Signal, Value

from firmware_models.abi import formats
from rtl.p2p.records import is_part
from testbench.formal.contract import Contract

NUMBER_BITS = 3
"""The entry, and one bit to tell apart operations that have it one after the other."""


NONCE_BITS = 1
"""So that the nonces of two operations may differ."""


class Operations:
    """The tracker's part: numbers, and what is known of the operation of each entry.

    A number comes as soon as the entry of the last one is free, answers come in any order, operations fail or run out
    of time whenever they like. A request that has been announced is counted before the next one is announced.

    Members
    -------
    taken, opened, failed, closed : ``Signal(n)``
        By entry: its number is out; the operation has been opened, has failed, has announced its last fragment.
    awaited : list of Signal
        Fragments announced that are not there.
    numbers, dest : lists of Signal
        Of the operation of each entry: its number, and the node that it asks.
    waiting, uncounted : Signal
        What the tracker has counted of all that is awaited, and one that it has yet to count.
    stuck, announced_number : Signal
        The request that was announced last has not left; and of which operation it is.
    comes, announced, closes, leaves : Value
        A descriptor is being taken, a fragment announced, the last word of an operation taken, a request sent.
    ranged_number : Signal
        Operation of the request whose range comes next.
    released, released_entry : Value
        An operation is over, and its entry free.
    """

    def __init__(self, contract: Contract, m: Module, unit: Any, *, window: int):
        self.contract, self.unit = contract, unit
        n, bits = unit.n, (unit.n - 1).bit_length()
        self.bits = bits
        self.taken, self.opened, self.failed, self.closed, self.expired = (
            Signal(n, name=name) for name in ("taken", "opened", "failed", "closed", "expired")
        )
        most = range(window + 3)
        self.awaited = [Signal(most, name=f"awaited_{k}") for k in range(n)]
        self.left = [Signal(most, name=f"left_{k}") for k in range(n)]
        self.dest = [Signal(formats.NODE_BITS, name=f"dest_{k}") for k in range(n)]
        self.numbers = [Signal(NUMBER_BITS, name=f"number_{k}") for k in range(n)]
        self.waiting = Signal(range(n * (window + 3)))
        self.uncounted, self.stuck, self.announced_number = Signal(), Signal(), Signal(NUMBER_BITS)

        free = contract.free
        number = unit.i_number
        given = number.payload
        m.d.comb += [
            number.valid.eq(free(1, "number")), given.number.eq(free(NUMBER_BITS, "number_payload")),
            given.nonce.eq(free(NONCE_BITS, "nonce")),
        ]
        self.number, self.nonce, self.entry = given.number, given.nonce, given.number[:bits]
        contract.assume(~number.valid | ~self.taken.bit_select(self.entry, 1))
        # A request that has not left is the only one left of its number, which comes again only after many others.
        contract.assume(~number.valid | ~self.stuck | (given.number != self.announced_number))
        self.comes = unit.i.valid & unit.i.ready

        progress, header = unit.o_progress, unit.o.header
        self.announced = progress.valid & progress.ready & progress.payload.sent
        self.closes = progress.valid & progress.ready & progress.payload.final
        self.announced_entry = progress.payload.number[:bits]
        # A request with a range leaves with its only beat.
        beat, number = unit.o.payload, header.payload.tag
        self.ranged_number, carries, is_ranged = Signal(NUMBER_BITS), Signal(), is_part(header.payload)
        taken = header.valid & header.ready
        with m.If(taken):
            m.d.sync += [carries.eq(is_ranged), self.ranged_number.eq(number)]
        with m.Elif(beat.valid & beat.ready):
            m.d.sync += carries.eq(0)
        contract.check(~beat.valid | carries)
        contract.check(~header.valid | ~carries)
        self.leaves = taken & ~is_ranged | beat.valid & beat.ready
        self.leaving_number = Mux(carries, self.ranged_number, number)[:NUMBER_BITS]
        self._events(m)

    @staticmethod
    def of(m: Module, signals: list[Signal], entry: Value) -> Signal:
        """That of the signals which belongs to an entry."""
        value = Signal.like(signals[0])
        with m.Switch(entry):
            for k, signal in enumerate(signals):
                with m.Case(k):
                    m.d.comb += value.eq(signal)
        return value

    def _events(self, m: Module) -> None:
        contract, unit, bits = self.contract, self.unit, self.bits

        def event(name: str) -> tuple[Signal, Signal]:
            """Something that may happen to one entry in any cycle."""
            return contract.free(1, name), contract.free(bits, f"{name}_entry")

        fails, fails_entry = event("fails")
        expires, expires_entry = event("expires")
        lands, lands_entry = event("lands")
        release, release_entry = event("release")
        counts = contract.free(1, "counts") | self.announced
        live = self.opened & ~self.expired
        contract.assume(~fails | live.bit_select(fails_entry, 1))
        contract.assume(~expires | live.bit_select(expires_entry, 1) & ~self.uncounted & ~self.announced)
        contract.assume(~lands | (self.of(m, self.left, lands_entry) != 0) & (self.waiting != 0))
        contract.assume(~(lands & expires) | (lands_entry != expires_entry))
        last = lands & (lands_entry == release_entry) & (self.of(m, self.awaited, release_entry) == 1)
        contract.assume(
            ~release | self.closed.bit_select(release_entry, 1) & ~self.uncounted
            & ((self.of(m, self.awaited, release_entry) == 0) | last)
        )
        self.released, self.released_entry = release, release_entry

        alive = live.bit_select(self.announced_entry, 1)
        m.d.comb += [unit.failed.eq(self.failed), unit.awaited.count.eq(self.waiting)]
        m.d.sync += [
            unit.awaited.landed.eq(lands), unit.awaited.entry.eq(lands_entry),
            self.uncounted.eq(self.announced & alive | self.uncounted & ~counts),
            self.waiting.eq(
                self.waiting + (self.uncounted & counts) - lands
                - Mux(expires, self.of(m, self.awaited, expires_entry), 0)
            ),
            self.stuck.eq(self.announced | self.stuck & ~self.leaves),
        ]
        with m.If(self.announced):
            m.d.sync += self.announced_number.eq(unit.o_progress.payload.number)
        leaves_entry = self.leaving_number[:bits]
        # A request whose operation has run out of time while it was held up is nobody's any more.
        mine = live.bit_select(leaves_entry, 1) & (self.of(m, self.numbers, leaves_entry) == self.leaving_number)
        for k in range(unit.n):
            awaited, left = self.awaited[k], self.left[k]
            with m.If(expires & (expires_entry == k)):
                m.d.sync += [awaited.eq(0), left.eq(0), self.expired[k].eq(1), self.failed[k].eq(1)]
            with m.Else():
                landed = lands & (lands_entry == k)
                m.d.sync += [
                    awaited.eq(awaited + (self.announced & alive & (self.announced_entry == k)) - landed),
                    left.eq(left + (self.leaves & mine & (leaves_entry == k)) - landed),
                ]
            with m.If(fails & (fails_entry == k)):
                m.d.sync += self.failed[k].eq(1)
            with m.If(self.closes & (self.announced_entry == k)):
                m.d.sync += self.closed[k].eq(1)
            with m.If(unit.o_open.valid & unit.o_open.ready & (unit.o_open.payload.number[:bits] == k)):
                m.d.sync += self.opened[k].eq(1)
            with m.If(release & (release_entry == k)):
                m.d.sync += self.taken[k].eq(0)
            with m.If(self.comes & (self.entry == k)):
                m.d.sync += [
                    self.taken[k].eq(1), self.numbers[k].eq(self.number),
                    self.dest[k].eq(unit.i.payload.desc.dest_id),
                    *(flags[k].eq(0) for flags in (self.opened, self.failed, self.closed, self.expired)),
                ]
