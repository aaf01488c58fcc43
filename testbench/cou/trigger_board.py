# amaranth: UnusedElaboratable=no
"""The trigger with the neighbours that it cannot be without: the memories it reads, the queues that it fills."""

from amaranth import Array, Module, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import Status
from firmware_models.config import Config
from rtl.abi import DescriptorControl, HashKey, PacketHeader
from rtl.buffer.layouts import arrival_layout
from rtl.buffer.tag_table import answer_layout
from rtl.cou.shapes import CouShapes
from rtl.cou.trigger import Trigger
from rtl.credit.layouts import credit_answer, credit_request
from rtl.interface import STATUS_BITS, TraceEvent, WindowSignature
from rtl.kit.arbiter import StreamArbiter
from rtl.kit.queue import stream_queue
from rtl.kit.stage import StreamPath, connect_through

TABLES = ("operation", "descriptor", "header")
QUEUES = {"o_load": None, "o_credit": None, "o_run": 2, "o_send": 2}
"""Depth of the queue behind an output of the trigger; a single register if there is none."""


class TriggerBoard(wiring.Component):
    """A trigger, its memories filled by the bench, its errors merged as an offload unit merges them.

    Members
    -------
    write_<table> : ``In(1)``, <table>_address, <table>_data : ``In``
        Fills an entry of :data:`TABLES`: the operation of a job, the descriptor at a position, the header in a slot.
    o_fault : ``Out(stream.Signature(fault))``
        Errors from both of the trigger's streams.
    loader_idle : ``In(1)``; beside : ``Out(1)``, beside_load : ``Out(load)``
        The loader has nothing to do: it takes a load beside its pass.
    expire, returned, returned_peer, node_id : ``In``
    active, n_free, fired, progress, write_started, write_job : ``Out``
        As of the trigger; so are the other streams.
    """

    def __init__(self, config: Config):
        self.config = config
        self.shapes = shapes = CouShapes(config)
        address = data.StructLayout({"position": shapes.position, "job": shapes.job})
        self.tables = {
            "operation": (shapes.job, shapes.operation), "descriptor": (address, DescriptorControl),
            "header": (shapes.packet, PacketHeader),
        }
        inputs = {
            "i_start": shapes.start, "i_loaded": shapes.loaded, "i_lookup": answer_layout(shapes.packet),
            "i_arrival": arrival_layout(shapes.packet), "i_credit": credit_answer(), "i_done": shapes.done,
        }
        outputs = {
            "o_load": shapes.load, "o_lookup": HashKey, "o_credit": credit_request(), "o_run": shapes.run,
            "o_send": shapes.send, "o_fault": shapes.fault,
        }
        super().__init__({
            **{name: In(stream.Signature(shape)) for name, shape in inputs.items()},
            **{name: Out(stream.Signature(shape)) for name, shape in outputs.items()},
            "window": Out(WindowSignature()), "returned": In(1), "returned_peer": In(formats.PEER_BITS),
            "loader_idle": In(1), "expire": In(config.cou.n_jobs), "node_id": In(formats.NODE_BITS),
            "active": Out(config.cou.n_jobs), "n_free": Out(range(config.cou.n_contexts + 1)), "fired": Out(1),
            "progress": Out(config.cou.n_jobs), "write_started": Out(1), "write_job": Out(shapes.job),
            "trace_valid": Out(1), "trace_event": Out(TraceEvent),
            "beside": Out(1), "beside_load": Out(shapes.load),
            **{f"write_{name}": In(1) for name in TABLES},
            **{f"{name}_address": In(address) for name, (address, _) in self.tables.items()},
            **{f"{name}_data": In(shape) for name, (_, shape) in self.tables.items()},
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.trigger = trigger = Trigger(self.config)
        n_jobs = self.config.cou.n_jobs
        operations = Array(Signal(self.shapes.operation, name=f"operation_{j}") for j in range(n_jobs))
        statuses = Array(Signal(STATUS_BITS, name=f"status_{j}") for j in range(n_jobs))
        with m.If(self.o_fault.valid & self.o_fault.ready & (statuses[self.o_fault.payload.job] == Status.OK)):
            m.d.sync += statuses[self.o_fault.payload.job].eq(self.o_fault.payload.status)
        with m.If(self.write_operation):
            m.d.sync += operations[self.operation_address].eq(self.operation_data)
            m.d.sync += statuses[self.operation_address].eq(Status.OK)
        view, table, back = trigger.operations.view, trigger.operations, trigger.credits.returned
        m.d.comb += [
            view.operation.eq(operations[view.job]), view.status.eq(statuses[view.job]),
            view.fault_pending.eq(trigger.o_fault.valid | trigger.o_damage.valid | self.o_fault.valid),
            view.expired.eq(self.expire.bit_select(view.job, 1)), table.expire.eq(self.expire),
            trigger.node_id.eq(self.node_id), back.valid.eq(self.returned), back.payload.peer.eq(self.returned_peer),
            trigger.operands.load.idle.eq(self.loader_idle),
            self.active.eq(table.active), self.n_free.eq(table.n_free), self.progress.eq(table.progress),
            self.write_started.eq(table.write_started.valid), self.write_job.eq(table.write_started.payload.job),
            self.fired.eq(trigger.fired), self.trace_valid.eq(trigger.trace.valid),
            self.trace_event.eq(trigger.trace.payload),
        ]
        read, header = trigger.sequence, trigger.packets.header
        for name, asks, address, answer in (
            ("descriptor", read.fetch, read.address, read.control),
            ("header", header.enable, header.slot, header.header),
        ):
            where, shape = self.tables[name]
            depth = 1 << (where if isinstance(where, int) else where.size)
            m.submodules[name] = store = memory.Memory(shape=shape, depth=depth, init=[])
            put, get = store.write_port(), store.read_port()
            m.d.comb += [
                put.en.eq(getattr(self, f"write_{name}")), put.addr.eq(getattr(self, f"{name}_address")),
                put.data.eq(getattr(self, f"{name}_data")), get.en.eq(asks), get.addr.eq(address), answer.eq(get.data),
            ]
        # A load beside its pass is taken at once; a request that is not to be decided on waits.
        outputs = {
            "o_load": trigger.operands.load.request, "o_credit": trigger.credits.ask.request,
            "o_run": trigger.passes.run, "o_send": trigger.passes.send,
        }
        load, stays = trigger.operands.load.request, {}
        m.d.comb += [self.beside.eq(load.valid & load.payload.beside), self.beside_load.eq(load.payload)]
        for name, held in (("o_load", load.payload.beside), ("o_credit", trigger.credits.ask.hold)):
            stays[name] = stream.Signature(outputs[name].payload.shape()).create(path=(name, "held"))
            port = outputs[name]
            m.d.comb += [
                stays[name].payload.eq(port.payload), stays[name].valid.eq(port.valid & ~held),
                port.ready.eq(stays[name].ready & ~held | (held if name == "o_load" else 0)),
            ]
        for name, depth in QUEUES.items():
            if depth is None:
                connect_through(m, f"{name}_stage", StreamPath(stays[name], flipped(getattr(self, name))))
                continue
            queue = stream_queue(shape=outputs[name].payload.shape(), depth=depth)
            m.submodules[f"{name}_queue"] = queue
            connect(m, outputs[name], queue.i)
            connect(m, queue.o, flipped(getattr(self, name)))
        m.submodules.faults = faults = StreamArbiter(shape=self.shapes.fault, n=2)
        for source, sink in zip((trigger.o_fault, trigger.o_damage), faults.i, strict=True):
            connect(m, source, sink)
        connect(m, faults.o, flipped(self.o_fault))
        for mine, sink in (
            (self.i_start, trigger.i_start), (self.i_loaded, trigger.operands.loaded),
            (self.i_lookup, trigger.packets.lookup.answer), (self.i_arrival, trigger.packets.arrival),
            (self.i_credit, trigger.credits.ask.answer), (self.i_done, trigger.passes.done),
        ):
            connect(m, flipped(mine), sink)
        connect(m, trigger.packets.lookup.request, flipped(self.o_lookup))
        connect(m, trigger.window.query, flipped(self.window).query)
        connect(m, flipped(self.window).answer, trigger.window.answer)
        return m
