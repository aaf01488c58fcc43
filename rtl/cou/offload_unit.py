"""The collective offload unit (COU): composition of its parts.

Architecture: ``rtl/cou/README.md``; NIC paper, sections 1.2 and 1.3.
"""

from types import SimpleNamespace

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import UnitState
from firmware_models.config import Config
from rtl.buffer.buffer_statistics import statistics_layout
from rtl.buffer.layouts import free_layout, hash_bits, key_hash
from rtl.buffer.packet_buffer import FaultOrder, PacketBuffer
from rtl.cou.activity import Activity
from rtl.cou.aggregator import Aggregator
from rtl.cou.job_closer import JobCloser
from rtl.cou.job_reporter import JobReporter
from rtl.cou.operand_loader import OperandLoader
from rtl.cou.operation_table import OperationTable
from rtl.cou.sequence_store import SequenceStore
from rtl.cou.trigger import Trigger
from rtl.credit.credit_return import CreditReturn
from rtl.credit.credit_table import CreditTable
from rtl.credit.shared_pool import SharedPool
from rtl.interface import (
    CompletionEvent,
    JobClosing,
    JobReport,
    JobWriteOff,
    PacketSignature,
    ReadSignature,
    SequenceSignature,
    TraceEvent,
    WindowSignature,
    WriteSignature,
    inline_layout,
)
from rtl.kit.arbiter import StreamArbiter
from rtl.kit.fifo import StreamFifo
from rtl.kit.index import index_bits
from rtl.kit.stage import StreamPath, connect_through


class OffloadUnit(wiring.Component):
    """Executes the collective operations of its jobs.

    Timing: every stream but packets and descriptors passes a register on its way in or out.

    Members
    -------
    port : ``In(SequenceSignature())``
        Sequences from the scheduler.
    inline_data : ``In(inline_layout(data_width))``
        Inline data of descriptors.
    rx : array of 2 ``In(PacketSignature(data_width))``
        COLLECTIVE packets, and CREDIT packets (which are always taken at once).
    tx : array of 2 ``Out(PacketSignature(data_width))``
        The same to the network.
    read, write : ``Out(ReadSignature)``, ``Out(WriteSignature)``
        Host memory.
    window : ``Out(WindowSignature())``
        Address check.
    o_event : ``Out(stream.Signature(CompletionEvent))``
        Completions, one for each sequence that was committed.
    o_report : ``Out(stream.Signature(JobReport))``
        To the job table: what no longer keeps a job here.
    node_id, watchdog : ``In``
        From the registers.
    busy, fired, inserted, duplicate, trace_valid : ``Out(1)``; trace_event : ``Out(TraceEvent)``; statistics : ``Out``
        For counters, registers and timelines; `fired` a cycle late.
    loan_granted, loan_unused : ``Out(1)``
        Likewise: a shared credit is granted; one has returned unused.
    returned_valid : ``In(1)``
        The job table knows a shared credit that was reported as RETURNED.
    state : ``Out(UnitState)``
        Its activity in this cycle.
    fault, arm : ``In``
        Test input of the packet buffer.
    closing : ``In(stream.Signature(JobClosing))``; dropped : ``Out(1)``
        A job is closed, or open again; pulse: a packet of one that is closed has been dropped.
    write_off : ``In(stream.Signature(JobWriteOff))``
        What a closed job has out, and some of its shared credits, are lost.
    """

    def __init__(self, config: Config):
        self.config = config
        width = config.datapath.data_width
        super().__init__({
            "port": In(SequenceSignature()), "inline_data": In(inline_layout(width)),
            "rx": In(PacketSignature(width)).array(2),
            "tx": Out(PacketSignature(width)).array(2),
            "read": Out(ReadSignature(width)),
            "write": Out(WriteSignature(width)),
            "window": Out(WindowSignature()),
            "o_event": Out(stream.Signature(CompletionEvent)),
            "o_report": Out(stream.Signature(JobReport)),
            "node_id": In(formats.NODE_BITS),
            "watchdog": In(32),
            "busy": Out(1), "fired": Out(1), "inserted": Out(1), "duplicate": Out(1),
            "loan_granted": Out(1), "loan_unused": Out(1), "returned_valid": In(1),
            "statistics": Out(statistics_layout(index_bits(config.buffer_slots) + 1)),
            "state": Out(range(len(UnitState))),
            "fault": In(FaultOrder), "arm": In(1), "closing": In(stream.Signature(JobClosing)), "dropped": Out(1),
            "write_off": In(stream.Signature(JobWriteOff)),
            "trace_valid": Out(1), "trace_event": Out(TraceEvent),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        units = {
            "store": SequenceStore(config), "operations": OperationTable(config), "trigger": Trigger(config),
            "loader": OperandLoader(config), "buffer": PacketBuffer(config, hashed=True),
            "credit_table": CreditTable(config), "credit_return": CreditReturn(config),
            "aggregator": Aggregator(config), "reporter": JobReporter(), "closer": JobCloser(config),
            "activity": Activity(),
        }
        for name, unit in units.items():
            m.submodules[name] = unit

        def cross(name, sender, receiver, *, full_rate=False):
            """A register at the border."""
            connect_through(m, f"{name}_stage", StreamPath(sender, receiver, full_rate=full_rate))

        u = SimpleNamespace(**units, cross=cross)
        self._connect_operations(m, u)
        self._connect_operands(m, u)
        self._connect_packets(m, u)
        self._connect_credits(m, u)
        self._connect_reports(m, u)
        self._connect_passes(m, u)
        self._connect_closer(m, u)
        return m

    def _connect_operations(self, m: Module, u: SimpleNamespace) -> None:
        """Sequences become operations, operations become pulses."""
        store, operations, trigger = u.store, u.operations, u.trigger
        u.cross("probe", flipped(self.port).probe, store.port.probe)
        u.cross("answer", store.port.answer, flipped(self.port).answer)
        connect(m, flipped(self.port).descriptor, store.port.descriptor)
        m.d.comb += store.inline_data.eq(self.inline_data)
        connect(m, store.o_operation, operations.i)
        connect(m, operations.o_release, store.i_release)
        connect(m, operations.o_start, trigger.i_start)
        u.cross("event", operations.o_event, flipped(self.o_event))
        m.d.comb += [
            operations.active.eq(trigger.active), operations.n_free.eq(trigger.n_free),
            operations.select.eq(trigger.select), trigger.operation.eq(operations.operation),
            trigger.expired.eq(operations.expired), trigger.status.eq(operations.status),
            trigger.fault_pending.eq(operations.fault_pending), trigger.expire.eq(operations.expire),
            operations.progress.eq(trigger.progress),
            operations.write_started.eq(trigger.write_started), operations.write_job.eq(trigger.write_job),
            operations.watchdog.eq(self.watchdog),
            store.fetch.eq(trigger.fetch), store.place.eq(trigger.place), trigger.control.eq(store.control),
            trigger.node_id.eq(self.node_id),
        ]
        u.cross("query", trigger.window.query, flipped(self.window).query)
        u.cross("checked", flipped(self.window).answer, trigger.window.answer)

    def _connect_operands(self, m: Module, u: SimpleNamespace) -> None:
        """Connects the sources of operands: host memory and descriptors."""
        store, trigger, loader, aggregator = u.store, u.trigger, u.loader, u.aggregator
        connect(m, trigger.o_load, loader.i)
        connect(m, loader.o, trigger.i_loaded)
        u.cross("read_request", loader.read.request, flipped(self.read).request)
        u.cross("read_data", flipped(self.read).data, loader.read.data, full_rate=True)
        m.d.comb += [
            store.word_place.eq(loader.word_place), loader.word.eq(store.word), store.word_taken.eq(loader.word_taken),
            trigger.loader_idle.eq(loader.idle), aggregator.filling.eq(loader.filling),
        ]
        for asking, asked in zip(aggregator.operands, loader.operands, strict=True):
            connect(m, asking, asked)

    def _connect_packets(self, m: Module, u: SimpleNamespace) -> None:
        """Packets to the buffer, and out of it."""
        trigger, buffer, aggregator = u.trigger, u.buffer, u.aggregator
        connect(m, flipped(self.rx[0]), buffer.i)
        connect(m, buffer.o_arrival, trigger.i_arrival)
        connect(m, aggregator.packets.read, buffer.i_read)
        connect(m, buffer.o_read, aggregator.packets.beats)
        m.d.comb += [
            trigger.meta.eq(buffer.meta), aggregator.packets.damaged.eq(buffer.read_error),
            buffer.fault.eq(self.fault), buffer.arm.eq(self.arm), self.statistics.eq(buffer.statistics),
        ]

    def _connect_credits(self, m: Module, u: SimpleNamespace) -> None:
        """Credits, both ends; the pool."""
        trigger, buffer, credit_table, credit_return, aggregator, reporter, closer = (
            u.trigger, u.buffer, u.credit_table, u.credit_return, u.aggregator, u.reporter, u.closer
        )
        returning = flipped(self.rx[1])
        header, back = returning.header.payload, credit_table.i_return
        connect(m, trigger.o_credit, credit_table.i)
        m.d.comb += credit_table.hold.eq(trigger.credit_hold)
        connect(m, credit_table.o, trigger.i_credit)
        connect(m, credit_table.o_unused, credit_return.i_unused)
        connect(m, credit_return.o, flipped(self.tx[1]))
        m.d.comb += [
            trigger.returned.eq(credit_table.returned), trigger.returned_peer.eq(back.payload.peer),
            credit_return.node_id.eq(self.node_id),
            back.valid.eq(returning.header.valid), returning.header.ready.eq(back.ready),
            [back.payload[name].eq(header[name]) for name in back.payload.shape().members if name != "window_slot"],
            back.payload.window_slot.eq(header.tag),
            # A CREDIT packet has no payload; one that comes with it all the same is drained.
            returning.payload.ready.eq(1),
            credit_table.i_write_off.valid.eq(self.write_off.valid),
            credit_table.i_write_off.payload.job_id.eq(self.write_off.payload.job_id),
            self.write_off.ready.eq(credit_table.i_write_off.ready),
        ]
        lane = aggregator.packets.pool
        # The pool: shared credits that are granted with credits, and those that return unused.
        if self.config.pool_packets:
            m.submodules.shared_pool = pool = SharedPool(pool=self.config.pool_packets)
            consumption = pool.consumption
            unused = header.loan & (header.credits == 0)
            report = reporter.i_unused
            m.d.comb += [
                consumption.consumed.eq(Mux(closer.pool.taken, closer.pool.consumed, lane.consumed)),
                consumption.taken.eq(lane.taken | closer.pool.taken), closer.pool.gone.eq(consumption.gone),
                lane.granted.eq(consumption.granted), lane.gone.eq(consumption.gone), buffer.unlent.eq(pool.free),
                report.payload.job_id.eq(header.job_id), report.valid.eq(returning.header.valid & unused),
                pool.unused.eq(self.returned_valid),
                self.loan_granted.eq(consumption.taken & consumption.granted), self.loan_unused.eq(pool.unused),
            ]
            with m.If(self.write_off.valid & self.write_off.ready):
                m.d.comb += pool.lost.eq(self.write_off.payload.lost)
            with m.If(unused):
                m.d.comb += [back.valid.eq(0), returning.header.ready.eq(report.ready)]
        else:
            m.d.comb += [lane.gone.eq(1), closer.pool.gone.eq(1)]

    def _connect_reports(self, m: Module, u: SimpleNamespace) -> None:
        """Reports of what no longer keeps a job here."""
        store, buffer, credit_table, reporter = u.store, u.buffer, u.credit_table, u.reporter
        connect(m, buffer.o_gone, reporter.i_gone)
        connect(m, store.o_ended, reporter.i_ended)
        connect(m, reporter.o_end, credit_table.i_end)
        connect(m, credit_table.o_rest, reporter.i_rest)
        u.cross("report", reporter.o, flipped(self.o_report))

    def _connect_passes(self, m: Module, u: SimpleNamespace) -> None:
        """Passes, their faults, and traces of all of it."""
        store, operations, trigger, loader, buffer, aggregator, activity = (
            u.store, u.operations, u.trigger, u.loader, u.buffer, u.aggregator, u.activity
        )
        # An operation does not end while an error of it may be on its way.
        sources = aggregator.o_fault, trigger.o_fault, trigger.o_damage, loader.o_fault, u.closer.o_fault
        m.submodules.faults = faults = StreamArbiter(
            shape=loader.o_fault.payload.shape(), n=len(sources), full_rate=False, chooses_ahead=True
        )
        connect(m, aggregator.o_fault, faults.i[0])  # waits in the lane already
        for number, (source, sink) in enumerate(zip(sources[1:], faults.i[1:], strict=True), start=1):
            m.submodules[f"fault_{number}_stage"] = stage = StreamFifo(
                shape=source.payload.shape(), depth=1, guarded=False
            )
            connect(m, source, stage.i)
            connect(m, stage.o, sink)
        connect(m, faults.o, operations.i_fault)
        m.d.comb += operations.fault_pending.eq(Cat(
            faults.o.valid, *(source.valid for source in sources), *(sink.valid for sink in faults.i),
        ).any())
        connect(m, trigger.o_run, aggregator.i)
        connect(m, trigger.o_send, aggregator.i_send)
        connect(m, aggregator.o_done, trigger.i_done)
        connect(m, aggregator.o_written, operations.i_written)
        connect(m, aggregator.tx, flipped(self.tx[0]))
        u.cross("write_request", aggregator.write.request, flipped(self.write).request)
        u.cross("write_data", aggregator.write.data, flipped(self.write).data, full_rate=True)
        u.cross("write_done", flipped(self.write).done, aggregator.write.done)
        m.d.comb += [
            activity.doing.eq(trigger.doing), activity.lane.eq(aggregator.activity[0]),
            activity.engine.eq(aggregator.activity[1]), self.state.eq(activity.o),
            self.busy.eq(store.busy), self.inserted.eq(buffer.inserted),
            self.duplicate.eq(buffer.duplicate),
            self.trace_valid.eq(trigger.trace_valid), self.trace_event.eq(trigger.trace_event),
        ]
        # Known late in its cycle, and only counted.
        m.d.sync += self.fired.eq(trigger.fired)

    def _connect_closer(self, m: Module, u: SimpleNamespace) -> None:
        """Connects the closer, which ends the operations and drops the packets of closed jobs. While the trigger stands
        still, look-ups and headers are the closer's; a packet that it drops leaves as consumed ones do, when none of
        those does.
        """
        operations, trigger, buffer, aggregator, closer = u.operations, u.trigger, u.buffer, u.aggregator, u.closer
        m.submodules.free_turn = turn = StreamFifo(
            shape=data.StructLayout({"free": free_layout(self.config), "hash": hash_bits(self.config)}), depth=1
        )
        leaving = Signal(free_layout(self.config))
        looks, answers = buffer.lookup, buffer.o_lookup
        m.d.comb += [
            self.dropped.eq(closer.dropped), closer.holds.eq(operations.holds),
            operations.close.eq(closer.ends), closer.arrival.eq(buffer.o_arrival.payload),
            closer.arrives.eq(buffer.o_arrival.valid), trigger.hold.eq(closer.hold), closer.held.eq(trigger.held),
            closer.meta.eq(buffer.meta), buffer.meta_enable.eq(trigger.meta_enable | closer.meta_enable),
            # One that is to stand still asks for no header any more.
            buffer.meta_slot.eq(Mux(closer.hold, closer.meta_slot, trigger.meta_slot)),
            # The closer asks only while the trigger, which stands still, asks nothing.
            looks.payload.eq(Mux(closer.lookup.valid, closer.lookup.payload, trigger.o_lookup.payload)),
            looks.valid.eq(closer.lookup.valid | trigger.o_lookup.valid),
            closer.lookup.ready.eq(looks.ready), trigger.o_lookup.ready.eq(~closer.lookup.valid & looks.ready),
            closer.i_lookup.payload.eq(answers.payload), trigger.i_lookup.payload.eq(answers.payload),
            # Each knows whether it has asked, and takes what is not its own at once.
            closer.i_lookup.valid.eq(answers.valid), trigger.i_lookup.valid.eq(answers.valid),
            answers.ready.eq(trigger.i_lookup.ready),
            aggregator.packets.barred.eq(closer.bars),
            closer.freeing.eq(aggregator.packets.freeing | buffer.free.valid),
            closer.freed.eq(buffer.free.valid & buffer.free.ready), closer.freed_slot.eq(buffer.free.payload.slot),
        ]
        for name, theirs_too, sink, item in (
            ("free", aggregator.packets.free, turn.i, leaving),
            ("credit", aggregator.packets.credit, u.credit_return.i, u.credit_return.i.payload),
        ):
            mine = getattr(closer, f"o_{name}")
            m.d.comb += [
                sink.valid.eq(theirs_too.valid | mine.valid), theirs_too.ready.eq(sink.ready),
                mine.ready.eq(sink.ready & ~theirs_too.valid),
                item.eq(Mux(theirs_too.valid, theirs_too.payload, mine.payload)),
            ]
        m.d.comb += [
            turn.i.payload.free.eq(leaving), turn.i.payload.hash.eq(key_hash(self.config, leaving.key)),
            buffer.free.valid.eq(turn.o.valid), turn.o.ready.eq(buffer.free.ready),
            buffer.free.payload.eq(turn.o.payload.free),
        ]
        if buffer.hashed:
            # The closer looks up a header that has stood for some cycles.
            mine = Signal.like(trigger.lookup_hash, name="closer_hash")
            m.d.sync += mine.eq(key_hash(self.config, closer.lookup.payload))
            m.d.comb += [
                buffer.hashes.lookup.eq(Mux(closer.lookup.valid, mine, trigger.lookup_hash)),
                buffer.hashes.free.eq(turn.o.payload.hash),
            ]
        connect(m, flipped(self.closing), closer.order)
