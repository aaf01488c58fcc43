"""The switch: buffer and queues of an input, credits of an output, tables."""

from types import SimpleNamespace
from typing import Any

from amaranth import Cat, Module, Mux, Signal

from testbench.formal.contract import Contract


class ChannelStoreContract(Contract):
    """One packet, any one, is followed from its first flit to the end of its last copy.

    The environment writes packets of any length while less than `n_flits` are held, and each reader reads them in any
    order, each as often as it likes, but no packet that another one reads; the last time it frees the flits. A flit
    that is freed is a credit: so granules must suffice for packets of one flit each, which the unit asserts.
    """

    def __init__(self, *, n_flits: int, granule_flits: int, n_readers: int = 1):
        super().__init__()
        self.n_flits = n_flits
        self.granule_flits = granule_flits
        self.n_readers = n_readers

    def build(self, m: Module) -> None:
        from rtl.switch.channel_store import ChannelStore

        n = self.n_flits + 2 * self.n_readers - 1
        m.submodules.unit = unit = ChannelStore(
            data_width=1, granule_flits=self.granule_flits, n_granules=n, n_readers=self.n_readers,
        )
        write, word, last = (self.free(1, name) for name in ("write", "word", "last"))

        # Writer: within its credits. Readers: one packet at a time each, only such as have begun.
        inside, startable, held, begins = Signal(), Signal(n), Signal(range(self.n_flits + 1)), Signal()
        m.d.comb += [
            unit.write.eq(write), unit.write_data.eq(word), unit.write_last.eq(last), begins.eq(write & ~inside),
        ]
        readers = [self._reader(m, number, reader, n) for number, reader in enumerate(unit.readers)]
        self.assume(~write | (held != self.n_flits))
        m.d.sync += held.eq(held + write - sum(reader.read & reader.giving for reader in readers))
        with m.If(write):
            m.d.sync += inside.eq(~last)
        for number, reader in enumerate(readers):
            self.assume(~reader.start | ((reader.name < n) & startable.bit_select(reader.name, 1)))
            for other in readers[:number] + readers[number + 1:]:
                self.assume(~reader.start | ~other.busy | other.ends | (other.at != reader.name))
                self.assume(~reader.start | ~other.start | (other.name != reader.name))
        for k in range(n):
            with m.If(begins & (unit.granule == k)):
                m.d.sync += startable[k].eq(1)
            for reader in readers:
                with m.If(reader.start & reader.final & (reader.name == k)):
                    m.d.sync += startable[k].eq(0)

        # The packet that is followed: its name, its length so far, and one of its flits.
        pick, place = self.free(1, "pick"), self.constant(2, "place")
        live, arriving, own, kept = Signal(), Signal(), Signal(range(n)), Signal()
        length = Signal(4)
        follow, given = Signal(), Signal()
        m.d.comb += follow.eq(begins & pick & ~live)
        with m.If(follow):
            m.d.sync += [live.eq(1), own.eq(unit.granule), length.eq(1), arriving.eq(~last)]
            with m.If(place == 0):
                m.d.sync += kept.eq(word)
        with m.Elif(write & arriving):
            m.d.sync += [length.eq(length + 1), arriving.eq(~last)]
            with m.If(length == place):
                m.d.sync += kept.eq(word)
        self.assume(length != 15)

        watching, final_copy, several, passing = Signal(), Signal(), Signal(), Signal()
        for number, reader in enumerate(readers):
            mine, step = Signal(name=f"mine_{number}"), Signal(4, name=f"step_{number}")
            with m.If(reader.start):
                m.d.sync += [mine.eq(live & (reader.name == own) & ~given), step.eq(0)]
            with m.Elif(reader.read):
                m.d.sync += step.eq(step + 1)
            with m.If(mine & reader.ends & reader.giving):
                m.d.sync += [live.eq(0), mine.eq(0)]
                m.d.comb += given.eq(1)
            with m.Elif(mine & reader.ends & ~reader.start):
                m.d.sync += mine.eq(0)
            watched = Signal(name=f"watched_{number}")
            m.d.comb += watched.eq(reader.busy & mine)
            self.check(~watched | (reader.unit.available == (step < length)))
            self.check(~watched | (reader.unit.last == (~arriving & (step + 1 == length))))
            due, expected = Signal(name=f"due_{number}"), Signal(name=f"expected_{number}")
            m.d.sync += [due.eq(watched & reader.read & (step == place)), expected.eq(kept)]
            self.check(~due | (reader.unit.data == expected))
            with m.If(watched & reader.giving):
                m.d.comb += watching.eq(1)
            with m.If(watched & reader.ends & reader.giving & (length > self.granule_flits)):
                m.d.comb += several.eq(1)
            with m.If(watched & reader.read & arriving):
                m.d.comb += passing.eq(1)
            again = Signal(name=f"again_{number}")
            with m.If(mine & reader.ends & ~reader.giving):
                m.d.sync += again.eq(1)
            with m.If(again & mine & reader.ends & reader.giving):
                m.d.comb += final_copy.eq(1)
        # Its name may be used again once its last copy is being read.
        self.check(~(begins & live) | (unit.granule != own) | watching)

        self.reach(held == self.n_flits, "no credit left")
        self.reach(several, "a packet of several granules is read")
        self.reach(passing, "a packet leaves while it comes in")
        self.reach(final_copy, "a second copy is the last one")
        if self.n_readers > 1:
            both = Signal()
            m.d.comb += both.eq(1)
            for reader in readers:
                with m.If(~(reader.read & reader.giving)):
                    m.d.comb += both.eq(0)
            self.reach(both, "all readers free a flit at once")

    def _reader(self, m: Module, number: int, unit: Any, n: int) -> SimpleNamespace:
        """Behaviour of one reader."""
        start, name, read, final = (
            self.free(shape, f"{label}_{number}")
            for shape, label in ((1, "start"), (range(n), "name"), (1, "read"), (1, "final"))
        )
        busy, giving, ends = (Signal(name=f"{label}_{number}") for label in ("busy", "giving", "ends"))
        at = Signal(range(n), name=f"at_{number}")
        m.d.comb += [
            unit.start.eq(start), unit.start_at.eq(name), unit.read.eq(read), unit.free.eq(giving),
            ends.eq(read & unit.last),
        ]
        self.assume(~read | (busy & unit.available))
        self.assume(~start | ~busy | ends)
        with m.If(start):
            m.d.sync += [busy.eq(1), giving.eq(final), at.eq(name)]
        with m.Elif(ends):
            m.d.sync += busy.eq(0)
        return SimpleNamespace(
            unit=unit, start=start, name=name, read=read, final=final, busy=busy, giving=giving, ends=ends, at=at,
        )


class ChannelQueuesContract(Contract):
    """One packet, any one, is followed through its queue: taken in its turn, once, a multicast once for each port."""

    def __init__(self, *, n_names: int):
        super().__init__()
        self.n_names = n_names

    def build(self, m: Module) -> None:
        from rtl.switch.channel_queues import ChannelQueues

        n, radix = self.n_names, 2
        m.submodules.unit = unit = ChannelQueues(radix=radix, n_names=n)
        push, name, short, multicast, ports = (
            self.free(shape, label) for shape, label in (
                (1, "push"), (range(n), "name"), (1, "short"), (1, "multicast"), (radix, "ports"),
            )
        )
        take, take_mc, take_ports = self.free(radix, "take"), self.free(1, "take_mc"), self.free(radix, "take_ports")
        m.d.comb += [
            unit.push.valid.eq(push), unit.push.payload.name.eq(name), unit.push.payload.short.eq(short),
            unit.push.payload.multicast.eq(multicast), unit.push.payload.ports.eq(ports),
            unit.take.eq(take), unit.take_mc.eq(take_mc), unit.take_mc_ports.eq(take_ports),
        ]
        # A name is free again when its packet has been read, which is some cycles after it was taken.
        used, resting = Signal(n), Signal(n)
        gone = Signal(n)
        whole = (take != 0) | (take_mc & unit.taken_whole)
        m.d.comb += gone.eq(Mux(whole, 1 << unit.taken_name, 0))
        m.d.sync += [used.eq(used & ~gone | Mux(push, 1 << name, 0)), resting.eq(gone)]
        self.assume(~push | ((name < n) & ~(used | resting).bit_select(name, 1)))
        self.assume(~push | multicast | (ports == 1) | (ports == 2))
        self.assume((take & ~unit.waiting) == 0)
        self.assume((take != 3) & ((take == 0) | ~take_mc))
        self.assume(~take_mc | (unit.mc_waits & ((take_ports & ~unit.mc_ports) == 0)))
        self.assume(~take_mc | (take_ports != 0) | (unit.mc_ports == 0))

        # How many are in each queue.
        queue, removed = Signal(radix + 1), Signal(radix + 1)
        m.d.comb += [
            queue.eq(Mux(push, Mux(multicast, 4, ports), 0)),
            removed.eq(Cat(take, take_mc & unit.taken_whole)),
        ]
        counts = [Signal(range(n + 1), name=f"count_{q}") for q in range(radix + 1)]
        waiting = Cat(unit.waiting, unit.mc_waits)
        for q, count in enumerate(counts):
            m.d.sync += count.eq(count + queue[q] - removed[q])
            self.check(waiting[q] == (count != 0))

        # The one followed.
        pick = self.free(1, "pick")
        live, own, its, rest, its_short = Signal(), Signal(range(n)), Signal(radix + 1), Signal(radix), Signal()
        ahead = Signal(range(n + 1))
        turn = Signal()
        m.d.comb += turn.eq(live & (ahead == 0))
        with m.If(push & pick & ~live):
            m.d.sync += [live.eq(1), own.eq(name), its.eq(queue), rest.eq(ports), its_short.eq(short)]
            for q, count in enumerate(counts):
                with m.If(queue[q]):
                    m.d.sync += ahead.eq(count - removed[q])
        with m.If(live & (its & removed).any()):
            m.d.sync += ahead.eq(ahead - 1)
            with m.If(ahead == 0):
                m.d.sync += live.eq(0)
        with m.If(turn & its[radix] & take_mc):
            m.d.sync += rest.eq(rest & ~take_ports)
        first = Cat(unit.waiting_short, unit.mc_short)
        touched = (its & Cat(take, take_mc)).any()
        self.check(~(turn & touched) | (unit.taken_name == own))
        self.check(~(live & (ahead != 0) & touched) | (unit.taken_name != own))
        self.check(~turn | ((its & first).any() == its_short))
        self.check(~(turn & its[radix]) | ((unit.mc_ports == rest) & (unit.mc_name == own)))
        self.check(~(turn & its[radix] & take_mc) | (unit.taken_whole == ((rest & ~take_ports) == 0)))

        self.reach(turn & its[0] & (counts[0] == n - 1), "a queue of all names but one")
        alone = turn & its[radix] & take_mc & unit.taken_whole & (rest != 3) & (rest != 0)
        self.reach(alone, "the last copy alone")
        behind = Signal()
        with m.If(live & (ahead == 2)):
            m.d.sync += behind.eq(1)
        self.reach(behind & turn & touched, "two were ahead")


class OutputCreditContract(Contract):
    """Credits of an output are conserved, and what was sent towards it has room in front of the link. An output is
    given up at the end of a window only in which it never had credits for a packet; each packet is sent whole or
    discarded whole.
    """

    def __init__(self, *, n_credits: int):
        super().__init__()
        self.n_credits = n_credits

    def build(self, m: Module) -> None:
        from rtl.interface import flit
        from rtl.switch.output_port import OutputPort

        n = self.n_credits
        sizes = SimpleNamespace(
            radix=2, readers=1, data_width=1, buffer_flits=n, longest=2, short=1, marked=False,
            flit=flit(1, marked=False),
        )
        m.submodules.unit = unit = OutputPort(sizes=sizes)
        sent, source, ready = self.free(2, "sent"), self.free(1, "source"), self.free(1, "ready")
        window_ended, starts, last = self.free(1, "window_ended"), self.free(2, "starts"), self.free(1, "last")
        credit, credit_vc = self.free(1, "credit"), self.free(1, "credit_vc")
        # Packets start where there seems to be room for one, a flit is sent of one that has started.
        holds = Signal(2)
        self.assume(((sent & ~(unit.accepts & holds)) == 0) & (sent != 3))
        goes_on = holds & ~Mux(last, sent, 0)
        self.assume((starts & (goes_on | ~unit.room_short)) == 0)
        m.d.sync += holds.eq(goes_on | starts)
        coming, vc, ends = Signal(2), Signal(), Signal()
        m.d.sync += [coming.eq(Mux(sent != 0, 1 << source, 0)), vc.eq(sent[1]), ends.eq(last)]
        m.d.comb += [
            unit.sent.eq(sent), unit.link.ready.eq(ready), unit.link.credit_valid.eq(credit),
            unit.link.credit_vc.eq(credit_vc),
        ]
        m.d.comb += [
            unit.valid.eq(coming), unit.window_ended.eq(window_ended),
            *(one.vc.eq(vc) for one in unit.flit), *(one.last.eq(ends) for one in unit.flit),
        ]
        came = [(coming != 0) & (vc == channel) for channel in range(2)]

        moved = unit.link.valid & unit.link.ready
        for channel in range(2):
            # On the way to the link, and at the receiver.
            under_way, there = Signal(range(n + 2)), Signal(range(n + 2))
            out, back = moved & (unit.link.flit.vc == channel), credit & (credit_vc == channel)
            given_up, inside, whole = unit.given_up[channel], Signal(), Signal()
            dropped = came[channel] & given_up
            m.d.sync += [
                under_way.eq(under_way + (sent[channel] & ~given_up) - out), there.eq(there + out - back),
            ]
            with m.If(came[channel]):
                m.d.sync += [inside.eq(~ends), whole.eq(given_up)]
            self.check(~came[channel] | ~inside | (whole == given_up))
            self.reach(dropped & inside, f"a packet of channel {channel} is discarded")
            # Credits for any packet since the window began; given up by nothing else.
            had_room, before, ended = Signal(init=1), Signal(), Signal()
            m.d.sync += [
                had_room.eq(Mux(window_ended, 0, had_room) | (unit.credits[channel] > 2)), before.eq(given_up),
            ]
            with m.If(unit.credits[channel] > 2):
                m.d.sync += ended.eq(0)
            with m.Elif(window_ended & ~had_room):
                m.d.sync += ended.eq(1)
            self.check(~given_up | before | ended)
            self.assume(~back | (there != 0))
            self.check(unit.credits[channel] + under_way + there == n)
            self.check(~out | (under_way != 0))
            self.check(~unit.room[channel] | given_up | (unit.credits[channel] > 2))
            self.check(~unit.room_short[channel] | given_up | (unit.credits[channel] > 1))
            self.check(~unit.accepts[channel] | given_up | (unit.credits[channel] != 0))
            self.reach(there == n, f"all credits of channel {channel} are at the receiver")
        # Channel 1 neither passes a waiting channel 0 for ever, nor does it wait for ever itself.
        passed, kept = Signal(3), Signal(3)
        m.d.comb += unit.holds.eq(holds)
        with m.If(~holds[0] | sent[0] | ~unit.accepts[1]):
            m.d.sync += passed.eq(0)
        with m.Elif(sent[1]):
            m.d.sync += passed.eq(passed + 1)
        with m.If((unit.accepts == 1) & (unit.credits[1] != 0)):
            m.d.sync += kept.eq(kept + 1)
        with m.Elif(unit.accepts[1]):
            m.d.sync += kept.eq(0)
        self.check(passed <= sizes.longest)
        self.check(kept <= sizes.longest)
        self.reach(kept == sizes.longest, "channel 1 yields")
        waits = Signal(3)
        with m.If(unit.link.valid | (unit.credits[0] + unit.credits[1] == 2 * n)):
            m.d.sync += waits.eq(0)
        with m.Elif(waits != 7):
            m.d.sync += waits.eq(waits + 1)
        self.reach(~unit.accepts.any() & (unit.credits[0] != 0), "no room in front of a link that pauses")


class RouteTableContract(Contract):
    """For one NodeID, any one: the port written last, 0 before, the default port beyond the table."""

    def build(self, m: Module) -> None:
        from rtl.switch.route_table import PORT_BITS, RouteTable

        m.submodules.unit = unit = RouteTable(n_lookups=2, entries=4)
        write, node, port = self.free(1, "write"), self.free(24, "node"), self.free(PORT_BITS, "port")
        default, key = self.free(PORT_BITS, "default"), self.constant(24, "key")
        asked = [self.free(24, f"asked_{k}") for k in range(2)]
        m.d.comb += [
            unit.write.valid.eq(write), unit.write.payload.node_id.eq(node), unit.write.payload.port.eq(port),
            unit.default_port.eq(default), *(unit.lookup[k].node_id.eq(asked[k]) for k in range(2)),
            *(unit.lookup[k].enable.eq(1) for k in range(2)),
        ]
        value, written = Signal(PORT_BITS), Signal()
        taken = write & unit.write.ready
        with m.If(taken & (node == key)):
            m.d.sync += [value.eq(port), written.eq(1)]
        for k in range(2):
            hit = Signal(name=f"hit_{k}")
            m.d.sync += hit.eq((asked[k] == key) & unit.write.ready)
            self.check(~hit | (unit.lookup[k].port == Mux(key < 4, value, default)))
            self.reach(hit & written & (key < 4) & (value != 0), f"an entry is found by look-up {k}")


class MulticastTableContract(Contract):
    """For one MLID, any one: the ports written last, none before, none below the first and beyond the last colour."""

    def build(self, m: Module) -> None:
        from rtl.switch.multicast_table import COLOUR_BITS, GROUP_BITS, MulticastTable

        entries, radix = 16, 18
        m.submodules.unit = unit = MulticastTable(n_lookups=1, radix=radix, entries=entries)
        write, colour, group = self.free(1, "write"), self.free(COLOUR_BITS, "colour"), self.free(GROUP_BITS, "group")
        mask, asked, key = self.free(16, "mask"), self.free(16, "asked"), self.constant(16, "key")
        read_colour, read_group = self.free(COLOUR_BITS, "read_colour"), self.free(GROUP_BITS, "read_group")
        m.d.comb += [
            unit.write.valid.eq(write), unit.write.payload.colour.eq(colour), unit.write.payload.group.eq(group),
            unit.write.payload.mask.eq(mask), unit.lookup[0].mlid.eq(asked),
            unit.lookup[0].enable.eq(1),
            unit.address.colour.eq(read_colour), unit.address.group.eq(read_group),
        ]
        known = (key >= 0xC000) & (key < 0xC000 + entries)
        low, high = Signal(16), Signal(2)
        taken, same = write & unit.write.ready, colour == key - 0xC000
        with m.If(taken & same & (group == 0)):
            m.d.sync += low.eq(mask)
        with m.If(taken & same & (group == 1)):
            m.d.sync += high.eq(mask)
        hit, clear = Signal(), Signal()
        m.d.sync += [hit.eq((asked == key) & unit.write.ready), clear.eq(unit.write.ready & ~write)]
        self.check(~hit | (unit.lookup[0].ports == Mux(known, Cat(low, high), 0)))
        of_key, of_group = Signal(), Signal(GROUP_BITS)
        m.d.sync += [of_key.eq((read_colour == key - 0xC000) & (key >= 0xC000)), of_group.eq(read_group)]
        expected = Mux(known & (of_group == 0), low, Mux(known & (of_group == 1), high, 0))
        self.check(~(of_key & clear) | (unit.mask == expected))
        self.reach(hit & known & (low == 5) & (high == 2), "both groups of an entry are found")
        self.reach(of_key & clear & (unit.mask == 2), "the registers read a mask")
