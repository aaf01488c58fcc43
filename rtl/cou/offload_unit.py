"""The collective offload unit (COU): composition of its parts.

Architecture: ``rtl/cou/README.md``; NIC paper, sections 1.2 and 1.3.
"""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from firmware_models.config import Config
from rtl.buffer.packet_buffer import PacketBuffer
from rtl.cou.activity import Activity
from rtl.cou.aggregator import Aggregator
from rtl.cou.fault_collector import FaultCollector
from rtl.cou.job_closer import JobCloser
from rtl.cou.job_reporter import JobReporter
from rtl.cou.operand_loader import OperandLoader
from rtl.cou.operation_table import OperationTable
from rtl.cou.packet_exit import PacketExit
from rtl.cou.sequence_store import SequenceStore
from rtl.cou.shapes import CouShapes
from rtl.cou.stored_packets import StoredPackets
from rtl.cou.trigger import Trigger
from rtl.cou.unit_signature import OffloadUnitSignature
from rtl.credit.credit_receiver import CreditReceiver
from rtl.credit.credit_return import CreditReturn
from rtl.credit.credit_table import CreditTable
from rtl.credit.shared_pool import NoPool, SharedPool
from rtl.credit.write_off import WriteOff
from rtl.kit.index import index_bits
from rtl.kit.stage import StreamPath, connect_through


class OffloadUnit(wiring.Component):
    """Executes the collective operations of its jobs.

    Timing: every stream but packets and descriptors passes a register on its way in or out.

    Members: :class:`rtl.cou.unit_signature.OffloadUnitSignature`.

    Parameters
    ----------
    config : Config
        ``datapath``, ``nic``, ``cou`` and ``reduce``.
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__(OffloadUnitSignature(
            data_width=config.datapath.data_width, level_bits=index_bits(config.buffer_slots) + 1
        ))

    def elaborate(self, platform):
        m = Module()
        config = self.config
        shapes, n_jobs, pool = CouShapes(config), config.cou.n_jobs, config.pool_packets
        self.store, self.trigger = SequenceStore(config), Trigger(config)
        self.operations = OperationTable(shapes=shapes, n_contexts=config.cou.n_contexts, n_jobs=n_jobs)
        self.loader, self.buffer, self.aggregator = (
            OperandLoader(config), PacketBuffer(config, hashed=True), Aggregator(config)
        )
        self.stored, self.exit = StoredPackets(shapes=shapes), PacketExit(shapes=shapes)
        self.closer = JobCloser(shapes=shapes, n_jobs=n_jobs, n_slots=config.buffer_slots)
        data_width, formats, shares = config.datapath.data_width, config.formats, pool > 0
        self.credit_table = CreditTable(
            formats=formats, n_peers=config.cou.n_peers, peer_credits=config.cou.peer_credits, shares=shares
        )
        self.credit_return = CreditReturn(data_width=data_width, shares=shares, formats=formats)
        self.credit_receiver = CreditReceiver(data_width=data_width, shares=shares)
        self.shared_pool = SharedPool(pool=pool) if pool else NoPool()
        self.write_off = WriteOff(pool=pool)
        self.reporter, self.activity = JobReporter(), Activity()
        # An error of a pass waits in the lane already.
        self.faults = FaultCollector(shapes=shapes, registered=(False, True, True, True, True))
        for name in (
            "store", "operations", "trigger", "loader", "buffer", "aggregator", "stored", "exit", "closer",
            "credit_table", "credit_return", "credit_receiver", "shared_pool", "write_off", "reporter", "activity",
            "faults",
        ):
            m.submodules[name] = getattr(self, name)
        self._connect_operations(m)
        self._connect_operands(m)
        self._connect_packets(m)
        self._connect_credits(m)
        self._connect_passes(m)
        self._connect_jobs(m)
        self._connect_registers(m)
        return m

    def _connect_operations(self, m: Module) -> None:
        """Sequences become operations, operations become pulses, and each ends in one completion."""
        store, operations, trigger = self.store, self.operations, self.trigger
        sequence = flipped(self.commands).sequence
        connect_through(m, "probe_stage", StreamPath(sequence.probe, store.port.probe))
        connect_through(m, "answer_stage", StreamPath(store.port.answer, sequence.answer))
        connect(m, sequence.descriptor, store.port.descriptor)
        m.d.comb += store.inline_data.eq(self.commands.inline_data)
        connect(m, store.o_operation, operations.i)
        connect(m, operations.o_release, store.i_release)
        connect(m, operations.o_start, trigger.i_start)
        connect(m, trigger.operations, operations.trigger)
        connect(m, trigger.sequence, store.view)
        connect_through(m, "event_stage", StreamPath(operations.o_event, flipped(self.o_event)))

    def _connect_operands(self, m: Module) -> None:
        """Operands come from host memory and from descriptors; addresses are checked."""
        trigger, loader, memory = self.trigger, self.loader, flipped(self.memory)
        connect(m, trigger.operands.load.request, loader.i)
        connect(m, loader.o, trigger.operands.loaded)
        connect_through(m, "read_request_stage", StreamPath(loader.read.request, memory.read.request))
        connect_through(m, "read_data_stage", StreamPath(memory.read.data, loader.read.data, full_rate=True))
        connect_through(m, "query_stage", StreamPath(trigger.window.query, memory.window.query))
        connect_through(m, "checked_stage", StreamPath(memory.window.answer, trigger.window.answer))
        connect(m, loader.words, self.store.words)
        m.d.comb += [trigger.operands.load.idle.eq(loader.idle), self.aggregator.filling.eq(loader.filling)]
        for wanted, operand in zip(self.aggregator.operands, loader.operands, strict=True):
            connect(m, wanted, operand)

    def _connect_packets(self, m: Module) -> None:
        """Packets to the buffer, to those who look for them, and out of it."""
        buffer, stored, way_out, closer, lane = (
            self.buffer, self.stored, self.exit, self.closer, self.aggregator.packets
        )
        connect(m, flipped(self.rx[0]), buffer.i)
        connect(m, self.trigger.packets, stored.trigger)
        connect(m, closer.packets, stored.closer)
        connect(m, closer.standstill, self.trigger.standstill)
        connect(m, stored.buffer, buffer.packets)
        connect(m, way_out.free, buffer.free)
        connect(m, lane.read, buffer.i_read)
        connect(m, buffer.o_read, lane.beats)
        connect(m, lane.leaving, way_out.lane)
        connect(m, closer.drops, way_out.drops)
        m.d.comb += [stored.hold.eq(closer.standstill.hold), lane.damaged.eq(buffer.read_error)]

    def _connect_credits(self, m: Module) -> None:
        """Credits, both ends, and the pool of shared ones."""
        table, returns, receiver, pool = self.credit_table, self.credit_return, self.credit_receiver, self.shared_pool
        asks, returned, returning = self.trigger.credits.ask, self.trigger.credits.returned, table.i_return.payload
        connect(m, asks.request, table.i)
        connect(m, table.o, asks.answer)
        connect(m, flipped(self.rx[1]), receiver.i)
        connect(m, receiver.o, table.i_return)
        connect(m, table.o_unused, returns.i_unused)
        connect(m, self.exit.credit, returns.i)
        connect(m, returns.o, flipped(self.tx[1]))
        connect(m, self.exit.pool, pool.consumption)
        m.d.comb += [
            table.hold.eq(asks.hold), returned.valid.eq(table.returned), returned.payload.peer.eq(returning.peer),
            pool.unused.eq(self.jobs.unused_known), self.buffer.unlent.eq(pool.free),
        ]

    def _connect_passes(self, m: Module) -> None:
        """Passes, results, and errors of all parts."""
        passes, aggregator, memory = self.trigger.passes, self.aggregator, flipped(self.memory)
        connect(m, passes.run, aggregator.i)
        connect(m, passes.send, aggregator.i_send)
        connect(m, aggregator.o_done, passes.done)
        connect(m, aggregator.o_written, self.operations.i_written)
        connect(m, aggregator.tx, flipped(self.tx[0]))
        connect_through(m, "write_request_stage", StreamPath(aggregator.write.request, memory.write.request))
        connect_through(m, "write_data_stage", StreamPath(aggregator.write.data, memory.write.data, full_rate=True))
        connect_through(m, "write_done_stage", StreamPath(memory.write.done, aggregator.write.done))
        sources = (
            aggregator.o_fault, self.trigger.o_fault, self.trigger.o_damage, self.loader.o_fault, self.closer.o_fault
        )
        for source, sink in zip(sources, self.faults.i, strict=True):
            connect(m, source, sink)
        connect(m, self.faults.o, self.operations.i_fault)
        m.d.comb += self.operations.fault_pending.eq(self.faults.pending)

    def _connect_jobs(self, m: Module) -> None:
        """Orders about jobs, and reports of what no longer keeps a job here."""
        reporter, table, closer = self.reporter, self.credit_table, self.closer
        connect(m, self.buffer.o_departure, reporter.i_departure)
        connect(m, self.store.o_ended, reporter.i_ended)
        connect(m, self.credit_receiver.o_unused, reporter.i_unused)
        connect(m, reporter.o_end, table.i_end)
        connect(m, table.o_rest, reporter.i_rest)
        connect_through(m, "report_stage", StreamPath(reporter.o, flipped(self.o_report)))
        connect(m, flipped(self.jobs).closing, closer.order)
        connect(m, flipped(self.jobs).write_off, self.write_off.i)
        connect(m, self.write_off.o, table.i_write_off)
        m.d.comb += [
            closer.holds.eq(self.operations.holds), self.operations.close.eq(closer.ends),
            self.shared_pool.lost.eq(self.write_off.lost),
        ]

    def _connect_registers(self, m: Module) -> None:
        """Settings; events that are counted, and those of timelines."""
        trigger, buffer, settings, status = self.trigger, self.buffer, self.settings, self.status
        counts = status.counts
        connect(m, trigger.trace, flipped(status).trace)
        m.d.comb += [
            trigger.node_id.eq(settings.node_id), self.credit_return.node_id.eq(settings.node_id),
            self.operations.watchdog.eq(settings.watchdog),
            buffer.fault.eq(settings.fault), buffer.arm.eq(settings.arm),
            self.activity.doing.eq(trigger.doing), self.activity.lane.eq(self.aggregator.activity[0]),
            self.activity.engine.eq(self.aggregator.activity[1]), status.state.eq(self.activity.o),
            status.busy.eq(self.store.busy), status.statistics.eq(buffer.statistics),
            counts.inserted.eq(buffer.inserted), counts.duplicate.eq(buffer.duplicate),
            counts.dropped.eq(self.closer.dropped), counts.shared_granted.eq(self.shared_pool.granted),
            counts.shared_unused.eq(self.shared_pool.unused), counts.fired.eq(trigger.fired),
        ]
