"""The NIC's registers: control page, event counters, doorbell pages."""

from functools import reduce
from operator import or_

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import registers
from firmware_models.abi.encoding import JobOrderKind
from firmware_models.abi.register import REGISTER_BITS
from firmware_models.abi.registers import CONTROL_PAGE, Access
from firmware_models.config.tree import Config
from rtl.abi import fields, word
from rtl.buffer.buffer_statistics import BUFFER_SUMS
from rtl.interface import PLAIN_LINK, JobStanding, LinkState
from rtl.kit.axi_lite import AxiLiteFront, AxiLiteSignature
from rtl.kit.index import index_bits
from rtl.kit.quiescent import TIMER
from rtl.nic.event_counters import EventCounters, Events
from rtl.nic.group_filter import GroupsSignature
from rtl.nic.register_signatures import JobRegistersSignature, NicSettings, UnitViewSignature, VpOrdersSignature
from rtl.p2p.nonce_source import WORD_BITS
from rtl.queue.records import DoorbellKind

DOORBELLS = {"dq_prod": DoorbellKind.DQ_PROD, "cq_cons": DoorbellKind.CQ_CONS, "rq_cons": DoorbellKind.RQ_CONS}
UPPER_HALVES = tuple(
    register.name for register in CONTROL_PAGE
    if register.name.startswith("vp_") and register.name.endswith(("base_hi", "limit_hi"))
)
"""Registers with the upper 32 bits of addresses; bits beyond `nic.address_bits` do not exist."""

ANSWER_KEY_HALVES = ("answer_key_lo", "answer_key_hi")

_OFFSET_BITS = max(register.offset for register in CONTROL_PAGE).bit_length()
"""Of an address: what tells the registers of the control page apart."""
_WORDS_AT_ONCE = 12
"""Registers whose words are summed up in one cycle when one of them is read."""


class RegisterFile(wiring.Component):
    """Decodes the register map (:mod:`firmware_models.abi.registers`) behind AXI4-Lite.

    Reads of addresses that hold no register, or one that cannot be read, are answered SLVERR; writes to such
    addresses, to read-only registers, and commits or doorbells for a VP or a window that this NIC does not have,
    have no effect.
    A write that must wait (commits and doorbells, while the VP table is at work) is answered when it has been done.

    Parameters
    ----------
    config : Config
        Where the registers that tell sizes are read from, and the bits of addresses.

    Members
    -------
    bus : ``In(AxiLiteSignature(address_bits=24))``
        The bus.
    vps : ``Out(VpOrdersSignature())``
        VP table: records, memory windows, doorbells.
    settings : ``Out(NicSettings)``
        Registers that other blocks go by.
    unit : ``Out(UnitViewSignature)``
        The offload unit that software looks at.
    groups : ``Out(GroupsSignature())``
        Groups that this NIC has joined.
    jobs : ``Out(JobRegistersSignature())``
        Job table: orders, one at a time, and the answer to each.
    cycles : ``Out(64)``
        Cycle counter, 0 after reset.
    busy : ``In``
        Status bit `busy`: a bit for each block that may be at work.
    events : ``In(Events)``
        Events to count, by the names of the counters: how many of each this cycle.
    link : ``In(LinkState)``
        Register `link_state`, which is a cycle late. An ordinary link if nothing is connected.
    notify : ``In``
        Sets `irq_status`: a completion or a receive entry has been written; a bit for each block that writes them.
    irq : ``Out(1)``
        Interrupt, level: some bit of `irq_status` is set and enabled. A register.
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__({
            "bus": In(AxiLiteSignature(address_bits=registers.ADDRESS_BITS)),
            "vps": Out(VpOrdersSignature()), "settings": Out(NicSettings),
            "unit": Out(UnitViewSignature(index_bits(config.buffer_slots) + 1)),
            "groups": Out(GroupsSignature()), "jobs": Out(JobRegistersSignature()),
            "cycles": Out(64), "busy": In(config.nic.n_cous + len(("vps", "completions")) + config.nic.p2p),
            "events": In(Events),
            "link": In(LinkState, init=PLAIN_LINK),
            "notify": In(1 + config.nic.p2p),
            "irq": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.front = front = AxiLiteFront(address_bits=registers.ADDRESS_BITS)
        # Most come of `rx_unknown`: of both channels and of point-to-point, beside those of the units.
        m.submodules.counters = counters = EventCounters(max_events=config.nic.n_cous + 3)
        connect(m, flipped(self.bus), front.bus)
        m.d.comb += counters.events.eq(self.events)
        self.cycles.attrs[TIMER] = 1
        m.d.sync += self.cycles.eq(self.cycles + 1)

        # Every register that software writes and reads back has its bits here; the upper half of an address, what there
        # is of it.
        widths = dict.fromkeys(UPPER_HALVES, config.nic.address_bits - REGISTER_BITS)
        held = {
            register.name: Signal(widths.get(register.name, register.width), init=register.reset, name=register.name)
            for register in CONTROL_PAGE
            if register.access is Access.RW and register.name != "group_entry"
        }
        self._write_data = write_data = front.o_write.payload.data
        m.d.comb += [
            self.settings.enable.eq(held["control"]),
            self.settings.node_id.eq(held["node_id"]),
            self.settings.watchdog.eq(held["watchdog"]), self.settings.retry_limit.eq(held["retry_limit"]),
            self.unit.select.eq(held["buffer_select"]),
            self.unit.fault.eq(write_data),
            self.groups.select.eq(held["group_select"]), self.groups.write.payload.eq(write_data),
        ]
        self._compose(m, held, write_data)
        stands, link = Signal(JobStanding), Signal(LinkState, init=PLAIN_LINK)
        m.d.sync += link.eq(self.link)
        clear_irq = self._write(m, held, front.o_write, stands)

        # A notification in the cycle of the clearing must not be lost.
        irq_status = Signal()
        with m.If(self.notify.any()):
            m.d.sync += irq_status.eq(1)
        with m.Elif(clear_irq):
            m.d.sync += irq_status.eq(0)
        m.d.sync += self.irq.eq((irq_status & held["irq_enable"]).any())

        self._read(m, front, counters, self._shown(stands, link) | held | {"irq_status": irq_status})
        return m

    def _compose(self, m: Module, held: dict, write_data) -> None:
        """Contents of a commit: the record and the window of registers written before, and the bits of the write."""
        record, window = self.vps.commit.payload.record, self.vps.window.payload
        for name in record.shape().members:
            if f"vp_{name}" in held:
                m.d.comb += record[name].eq(held[f"vp_{name}"])
            elif name != "enable":
                m.d.comb += record[name].eq(Cat(held[f"vp_{name}_lo"], held[f"vp_{name}_hi"]))
        m.d.comb += [
            record.enable.eq(fields(CONTROL_PAGE["vp_commit"], write_data).enable),
            self.vps.commit.payload.keep.eq(fields(CONTROL_PAGE["vp_commit"], write_data).keep_windows),
            self.vps.commit.payload.vp.eq(held["vp_select"]),
            window.vp.eq(held["vp_select"]),
            window.index.eq(held["window_select"]),
            window.window.base.eq(record.window_base),
            window.window.limit.eq(record.window_limit),
            window.window.rights.eq(
                Mux(fields(CONTROL_PAGE["window_commit"], write_data).enable, record.window_rights, 0)
            ),
        ]

    def _write(self, m: Module, held: dict, write, stands: Signal) -> Signal:
        """Delivers a write. Returns a flag: it clears the interrupt.

        It stands at the front for a cycle before it is delivered: what it means is worked out in that cycle. Whoever
        gets the contents of several registers is offered them a cycle later. VP pages stand in the upper half of the
        address space.
        """
        n_vps = self.config.nic.n_vps
        in_pages = write.payload.addr[registers.VP_PAGES.bit_length() - 1]
        page_bits = (registers.VP_PAGE_BYTES - 1).bit_length()
        page_vp = write.payload.addr[page_bits : registers.VP_PAGES.bit_length() - 1]
        page_offset = write.payload.addr[:page_bits]
        control_offset = write.payload.addr[:_OFFSET_BITS]
        # Of the control page: the rest of the address, for all its registers at once.
        on_page = Signal()
        m.d.sync += on_page.eq(~write.payload.addr[_OFFSET_BITS:].any())
        # The target of a write answers late in a cycle: the front hears of it in the next one. The conditions that a
        # write waits for are summed up in parallel, for a write has one meaning at most.
        taken = Signal()
        stands_there = write.valid & ~taken
        delivers = stands_there & on_page

        def means(name, condition):
            """High if the current write is to the register `name`; a register, valid with ``write.valid``."""
            decoded = Signal(name=f"is_{name}")
            m.d.sync += decoded.eq(condition)
            return decoded

        rings_bell = means("doorbell", in_pages & (page_vp < n_vps) & Cat(
            page_offset == register.offset for register in registers.VP_PAGE
        ).any())
        for register in registers.VP_PAGE:
            with m.If(page_offset == register.offset):
                m.d.sync += self.vps.doorbell.payload.kind.eq(DOORBELLS[register.name])
        m.d.comb += [
            self.vps.doorbell.payload.vp.eq(page_vp), self.vps.doorbell.payload.index.eq(write.payload.data),
            self.vps.doorbell.valid.eq(rings_bell & stands_there), write.ready.eq(taken),
        ]
        hears, answers = [rings_bell], [rings_bell & self.vps.doorbell.ready]

        always = Const(1)
        vp_known, window_known = held["vp_select"] < n_vps, held["window_select"] < self.config.nic.n_windows
        waits = {
            "vp_commit": (self.vps.commit, vp_known), "window_commit": (self.vps.window, vp_known & window_known),
            "group_entry": (self.groups.write, always),
        }
        clear_irq = Signal()
        for register in CONTROL_PAGE:
            here = control_offset == register.offset
            if register.name in held:
                with m.If(means(register.name, here) & delivers):
                    m.d.sync += held[register.name].eq(write.payload.data)
            elif register.name == "irq_status":
                clears = fields(register, write.payload.data).written
                m.d.comb += clear_irq.eq(means(register.name, here) & delivers & clears)
            elif register.name in ANSWER_KEY_HALVES:
                self._write_key(m, ANSWER_KEY_HALVES.index(register.name), means(register.name, here) & delivers)
            elif register.name == "buffer_fault":
                m.d.comb += self.unit.arm.eq(means(register.name, here) & delivers)
            elif register.name in waits:
                taker, known = waits[register.name]
                meant = means(register.name, here & known) & on_page
                offers, is_taken = Signal(name=f"offers_{register.name}"), taker.valid & taker.ready
                m.d.comb += taker.valid.eq(offers)
                m.d.sync += offers.eq(meant & stands_there & ~is_taken)
                hears.append(meant)
                answers.append(is_taken)
        job_control = CONTROL_PAGE["job_control"].offset
        to_jobs = means("job_control", control_offset == job_control)
        meant = Cat(to_jobs, on_page).all()
        self._order_job(m, held, meant & stands_there, stands)
        hears.append(meant)
        answers.append(meant & self.jobs.standing.valid)
        m.d.sync += taken.eq(stands_there & (~Cat(hears).any() | Cat(answers).any()))
        return clear_irq

    def _write_key(self, m: Module, half: int, written: Value) -> None:
        """Takes over half of the key of nonces, which cannot be read."""
        words, is_new = Signal(REGISTER_BITS, name=f"answer_key_{half}"), Signal(name=f"answer_key_{half}_written")
        key, size = self.settings.answer_key, REGISTER_BITS // WORD_BITS
        m.d.sync += is_new.eq(written)
        with m.If(written):
            m.d.sync += words.eq(self._write_data)
        m.d.comb += [
            key.written[half].eq(is_new),
            *(key.words[size * half + k].eq(words[WORD_BITS * k:WORD_BITS * (k + 1)]) for k in range(size)),
        ]

    def _order_job(self, m: Module, held: dict, meant: Value, stands: Signal) -> None:
        """A write to job_control is answered when its order is: what job_state shows then is not older."""
        order, standing, order_taken = self.jobs.order, self.jobs.standing, Signal(name="order_taken")
        flags = fields(CONTROL_PAGE["job_control"], self._write_data)
        m.d.comb += [
            order.payload.job_id.eq(held["job_select"]),
            order.payload.kind.eq(
                Mux(flags.close, JobOrderKind.CLOSE, Mux(
                    flags.open, JobOrderKind.OPEN, Mux(flags.refuse, JobOrderKind.REFUSE, Mux(
                        flags.write_off, JobOrderKind.WRITE_OFF, JobOrderKind.LOOK
                    )),
                ))
            ),
            standing.ready.eq(1),
        ]
        m.d.comb += order.valid.eq(meant & ~order_taken)
        with m.If(order.valid & order.ready):
            m.d.sync += order_taken.eq(1)
        with m.If(standing.valid):
            m.d.sync += [order_taken.eq(0), stands.eq(standing.payload)]

    def _shown(self, stands: Signal, link: Signal) -> dict:
        """Values of the read-only registers, by name, except counts of two words."""
        config, group = self.config, self.groups.entry
        return {
            "id": registers.ID_VALUE,
            "version": registers.VERSION_VALUE,
            "status": self.busy.any(),
            "n_vps": config.nic.n_vps,
            "n_cous": config.nic.n_cous,
            "data_width": config.datapath.data_width,
            "mtu": config.datapath.mtu,
            "n_groups": config.nic.n_groups,
            "n_windows": config.nic.n_windows,
            "job_state": word(CONTROL_PAGE["job_state"], closed=stands.closed, in_progress=stands.busy,
                              owing=stands.owing, refused=stands.refused, kept=stands.kept),
            "link_state": link.as_value(),
            "group_entry": word(CONTROL_PAGE["group_entry"], mgid=group.mgid, joined=group.joined),
            "buffer_slots": config.buffer_slots, "buffer_packets": config.buffer_packets,
            **{
                f"buffer_{name}": self.unit.statistics[name]
                for name in ("level", "peak", "unlent", "stash", "stash_peak", "steps_max")
            },
        }

    def _read(self, m: Module, front: AxiLiteFront, counters: EventCounters, shown: dict) -> None:
        """Answers reads, which take six cycles, so that the selection begins and ends in registers; gives whether one
        is on its way.
        """
        # The upper half of a sum is that of the moment at which the lower one was read. Sums share the register.
        cycles_hi, sum_hi = Signal(32), Signal(32)
        sums = {f"buffer_{name}": self.unit.statistics[name] for name in BUFFER_SUMS}
        shown |= {"cycles_lo": self.cycles[:32], "cycles_hi": cycles_hi}
        for name, value in sums.items():
            shown |= {f"{name}_lo": value[:32], f"{name}_hi": sum_hi}
        read, answer = front.o_read, front.i_read
        counter_at = read.payload.addr - registers.COUNTERS
        in_counters = (read.payload.addr >= registers.COUNTERS) & (
            counter_at < registers.EVENT_COUNTERS.end - registers.COUNTERS
        )
        # Cycles by state are a sum, of the unit that is selected: they get a register of their own.
        state_high, state_cycles = read.payload.addr[2], Signal(64)
        in_states = (read.payload.addr[6:] == registers.STATE_COUNTERS_AT >> 6) & (
            self.unit.state_index < len(registers.STATE_COUNTERS)
        )
        m.d.comb += [
            read.ready.eq(~answer.valid), counters.index.eq(counter_at[3:]), counters.high.eq(counter_at[2]),
            counters.latch.eq(read.valid & read.ready & in_counters), self.unit.state_index.eq(read.payload.addr[3:6]),
        ]
        # The word that is read is chosen by a bit for each register. These bits and what the counters answer stand in
        # registers; the address stays until the answer is taken.
        readable = [register for register in CONTROL_PAGE if register.access is not Access.WO]
        # The address stands for some cycles, so what it is beyond the control page is found first.
        on_page = Signal()
        hits = Cat((read.payload.addr[:_OFFSET_BITS] == register.offset) & on_page for register in readable)
        asking, looking, seeing, is_found, counted = Signal(), Signal(), Signal(), Signal(), Signal(32)
        chosen = Signal()
        hit, hit_counter, hit_state = Signal(len(readable)), Signal(), Signal()
        m.d.sync += [
            on_page.eq(~read.payload.addr[_OFFSET_BITS:].any()),
            asking.eq(read.valid & read.ready), looking.eq(asking), seeing.eq(looking), is_found.eq(seeing),
            chosen.eq(is_found),
            hit.eq(hits), hit_counter.eq(in_counters | in_states), hit_state.eq(in_states),
        ]
        with m.If(looking & hit_state & ~state_high):
            m.d.sync += state_cycles.eq(self.unit.state_cycles)
        with m.If(seeing):
            m.d.sync += counted.eq(
                Mux(hit_state, Mux(state_high, state_cycles[32:], state_cycles[:32]), counters.value)
            )
        words = [Mux(hit_counter, counted, 0)]
        for k, register in enumerate(readable):
            words.append(Mux(hit[k], shown[register.name], 0))
            with m.If(is_found & hit[k]):
                if register.name == "cycles_lo":
                    m.d.sync += cycles_hi.eq(self.cycles[32:])
                if register.name.removesuffix("_lo") in sums:
                    m.d.sync += sum_hi.eq(sums[register.name.removesuffix("_lo")][32:])
        with m.If(answer.ready):
            m.d.sync += answer.valid.eq(0)
        # One word at most is not 0: some are summed up at a time, and the sums in the next cycle.
        chunks = [words[at : at + _WORDS_AT_ONCE] for at in range(0, len(words), _WORDS_AT_ONCE)]
        partial = [Signal(32, name=f"words_{k}") for k in range(len(chunks))]
        with m.If(is_found):
            m.d.sync += [register.eq(reduce(or_, part)) for register, part in zip(partial, chunks, strict=True)]
        with m.If(chosen):
            m.d.sync += [
                answer.valid.eq(1), answer.payload.error.eq(~hit_counter & ~hit.any()),
                answer.payload.data.eq(reduce(or_, partial)),
            ]
