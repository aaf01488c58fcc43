"""The stash of a cuckoo table: tags that wait for an empty way."""

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.buffer.tag_code import TagCode
from rtl.buffer.tag_table import LEVEL_BITS, STEP_BITS
from rtl.kit.round_robin import RoundRobin


def stash_layout(code: TagCode) -> data.StructLayout:
    """An entry of the stash, as look-ups see it."""
    return data.StructLayout({"valid": 1, "entry": code.entry})


class TagStash(wiring.Component):
    """Entries in registers, the tags of which are offered to the pipeline one by one.

    A tag that was offered is *away* until the pipeline brings it `back`; its entry is not used for another one
    before, not even if the tag is removed meanwhile.

    Parameters
    ----------
    code : TagCode
        Layout of tags.
    n_entries : int
        Entries.
    max_kicks : int
        Displacements after which a tag rests.

    Members
    -------
    entries : ``Out(ArrayLayout({valid, entry}))``
        What is there, for look-ups.
    room : ``Out(1)``
        An insertion can be taken: there is an entry for it, whatever the `n_inserts` in the pipeline need.
    n_inserts : ``In(3)``
        Insertions in the pipeline, with the one that is being taken.
    o : ``Out(stream.Signature({index, entry}))``
        Tags to be moved.
    read : ``In({entry, removing, same_as_act, taken_over})``
        The operation that is compared in this cycle; it has the tag of the one that acts; its tag is just moving into
        the stash.
    match : ``Out(n_entries)``
        A cycle later: entries with its tag.
    act : ``In({index, entry})``, victim : ``In``
        The operation that acts: entry of the stash that it moves, its tag, the tag that it displaces.
    effect : ``In({put, drop, placed, swap, rest, back, wake})``
        What it does: enters the stash, removes what matches, has found a way, has displaced another, rests; it was a
        move, and has ended. `wake`: a way has become empty, so tags that rest try again.
    moved : ``Out({alive, exhausted, steps})``
        Of entry `act.index`: not removed meanwhile; has reached `max_kicks`; how often the table was read for it, with
        this time.
    level : ``Out(LEVEL_BITS)``
        Tags in the stash.
    corrected, uncorrectable : ``Out(1)``
        Pulses: an error in a displaced tag.
    """

    def __init__(self, *, code: TagCode, n_entries: int, max_kicks: int):
        self.code, self.n_entries, self.max_kicks = code, n_entries, max_kicks
        index = range(max(2, n_entries))
        super().__init__({
            "entries": Out(data.ArrayLayout(stash_layout(code), n_entries)),
            "room": Out(1), "n_inserts": In(3),
            "o": Out(stream.Signature(data.StructLayout({"index": index, "entry": code.entry}))),
            "read": In(data.StructLayout({"entry": code.entry, "removing": 1, "same_as_act": 1, "taken_over": 1})),
            "match": Out(n_entries),
            "act": In(data.StructLayout({"index": index, "entry": code.entry})), "victim": In(code.entry),
            "effect": In(data.StructLayout({
                "put": 1, "drop": 1, "placed": 1, "swap": 1, "rest": 1, "back": 1, "wake": 1,
            })),
            "moved": Out(data.StructLayout({"alive": 1, "exhausted": 1, "steps": STEP_BITS})),
            "level": Out(LEVEL_BITS), "corrected": Out(1), "uncorrectable": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        n, code = self.n_entries, self.code
        valid, away, resting, raw, bad = (Signal(n, name=name) for name in ("valid", "away", "resting", "raw", "bad"))
        entries = Array(Signal(code.entry, name=f"entry_{j}") for j in range(n))
        kicks = Array(Signal(range(self.max_kicks + 1), name=f"kicks_{j}") for j in range(n))
        steps = Array(Signal(STEP_BITS, name=f"steps_{j}") for j in range(n))

        free, lowest = Signal(n), Signal(n)
        m.d.comb += [
            free.eq(~(valid | away)), lowest.eq(free & -free),
            self.moved.alive.eq(valid.bit_select(self.act.index, 1)),
            self.moved.exhausted.eq(kicks[self.act.index] == self.max_kicks),
            self.moved.steps.eq(steps[self.act.index] + ~steps[self.act.index].all()),
        ]
        m.d.sync += [
            self.room.eq(sum(free[j] for j in range(n)) > self.n_inserts),
            self.level.eq(sum(valid[j] for j in range(n))),
        ]

        # Tags that may move are offered in turn. The choice is registered: the hash stands behind it.
        m.submodules.turn = turn = RoundRobin(n=n)
        choose = Signal()
        m.d.comb += [
            choose.eq(~self.o.valid | self.o.ready), turn.advance.eq(choose),
            turn.requests.eq(valid & ~(away | resting | raw | bad)),
        ]
        with m.If(choose):
            m.d.sync += [
                self.o.valid.eq(turn.grant.any()), self.o.payload.index.eq(turn.index),
                self.o.payload.entry.eq(entries[turn.index]),
            ]

        # A tag comes in from outside or out of a bank, never both at once.
        incoming = Signal(code.entry)
        m.d.comb += incoming.eq(Mux(self.effect.swap, self.victim, self.act.entry))
        for j in range(n):
            m.d.comb += [self.entries[j].valid.eq(valid[j]), self.entries[j].entry.eq(entries[j])]
            mine = self.act.index == j
            enters = self.effect.put & lowest[j]

            # Compare; what the acting operation changes in this cycle is not yet in the registers.
            same, _, doubt = code.differs(m, entries[j].code, self.read.entry.code)
            alike = valid[j] & (
                same & ~self.read.removing
                | self.read.removing & (same | doubt) & code.same_slot(m, entries[j].slot, self.read.entry.slot)
            )
            with m.If(enters):
                m.d.sync += self.match[j].eq(self.read.same_as_act)
            with m.Elif(mine & self.effect.swap):
                m.d.sync += self.match[j].eq(self.read.taken_over)
            with m.Else():
                m.d.sync += self.match[j].eq(alike & ~(mine & self.effect.placed) & ~(self.effect.drop & self.match[j]))

            with m.If(choose & turn.grant[j]):
                m.d.sync += away[j].eq(1)
            with m.If(mine & self.effect.back):
                m.d.sync += [away[j].eq(0), steps[j].eq(self.moved.steps)]
            with m.If(self.effect.wake):
                m.d.sync += [resting[j].eq(0), kicks[j].eq(0)]
            with m.If(mine & self.effect.rest):
                m.d.sync += resting[j].eq(1)
            with m.If(mine & self.effect.swap):
                m.d.sync += [kicks[j].eq(kicks[j] + 1), raw[j].eq(int(code.ecc)), bad[j].eq(0)]
            with m.If((mine & self.effect.placed) | (self.effect.drop & self.match[j])):
                m.d.sync += valid[j].eq(0)
            with m.If(enters):
                m.d.sync += [
                    valid[j].eq(1), kicks[j].eq(0), steps[j].eq(1), resting[j].eq(0), raw[j].eq(0), bad[j].eq(0),
                ]
            with m.If(enters | (mine & self.effect.swap)):
                m.d.sync += entries[j].eq(incoming)

        # A displaced tag may have an error, with which it would have another hash: it is corrected before it moves on.
        if code.ecc:
            m.submodules.washing = washing = RoundRobin(n=n)
            m.d.comb += [washing.requests.eq(raw & valid), washing.advance.eq(1)]
            dirty = Signal(code.entry)
            m.d.comb += dirty.eq(entries[washing.index])
            clean_code, clean_slot, single, double = code.clean(m, dirty, name="washed")
            with m.If(washing.grant.any()):
                m.d.sync += [
                    entries[washing.index].code.eq(clean_code), entries[washing.index].slot.eq(clean_slot),
                    raw.bit_select(washing.index, 1).eq(0), bad.bit_select(washing.index, 1).eq(double),
                ]
            m.d.sync += [
                self.corrected.eq(washing.grant.any() & single), self.uncorrectable.eq(washing.grant.any() & double),
            ]
        return m
