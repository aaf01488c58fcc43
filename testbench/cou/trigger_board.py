# amaranth: UnusedElaboratable=no
"""The trigger with the neighbours that it cannot be without: the memories it reads, the queues that it fills."""

from amaranth import Array, Module, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi.encoding import Status
from firmware_models.config import Config
from rtl.abi import DescriptorControl, PacketHeader
from rtl.cou.command import CouShapes
from rtl.cou.trigger import Trigger
from rtl.interface import STATUS_BITS
from rtl.kit.arbiter import StreamArbiter
from rtl.kit.fifo import StreamFifo
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
        trigger = Trigger(config).signature.members
        place = data.StructLayout({"position": shapes.place, "job": shapes.job})
        self.tables = {
            "operation": (shapes.job, shapes.operation), "descriptor": (place, DescriptorControl),
            "header": (shapes.packet, PacketHeader),
        }
        same = (
            "i_start", "i_loaded", "o_lookup", "i_lookup", "i_arrival", "i_credit", "window", "i_done", "returned",
            "returned_peer", "loader_idle", "expire", "node_id", "active", "n_free", "fired", "progress",
            "write_started", "write_job", "trace_valid", "trace_event", *QUEUES,
        )
        super().__init__({
            **{name: trigger[name] for name in same}, "o_fault": Out(stream.Signature(shapes.fault)),
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
        m.d.comb += [
            trigger.operation.eq(operations[trigger.select]), trigger.status.eq(statuses[trigger.select]),
            trigger.fault_pending.eq(trigger.o_fault.valid | trigger.o_damage.valid | self.o_fault.valid),
            trigger.expire.eq(self.expire),
            trigger.expired.eq(self.expire.bit_select(trigger.select, 1)), trigger.node_id.eq(self.node_id),
            trigger.returned.eq(self.returned), trigger.returned_peer.eq(self.returned_peer),
            trigger.loader_idle.eq(self.loader_idle),
            *(getattr(self, name).eq(getattr(trigger, name)) for name in (
                "active", "n_free", "fired", "progress", "write_started", "write_job", "trace_valid", "trace_event",
            )),
        ]
        for name, asks, address, answer in (
            ("descriptor", trigger.fetch, trigger.place, trigger.control),
            ("header", trigger.meta_enable, trigger.meta_slot, trigger.meta),
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
        load, stays = trigger.o_load, {}
        m.d.comb += [self.beside.eq(load.valid & load.payload.beside), self.beside_load.eq(load.payload)]
        for name, held in (("o_load", load.payload.beside), ("o_credit", trigger.credit_hold)):
            stays[name] = stream.Signature(getattr(trigger, name).payload.shape()).create(path=(name, "held"))
            port = getattr(trigger, name)
            m.d.comb += [
                stays[name].payload.eq(port.payload), stays[name].valid.eq(port.valid & ~held),
                port.ready.eq(stays[name].ready & ~held | (held if name == "o_load" else 0)),
            ]
        for name, depth in QUEUES.items():
            if depth is None:
                connect_through(m, f"{name}_stage", StreamPath(stays[name], flipped(getattr(self, name))))
                continue
            queue = StreamFifo(shape=getattr(trigger, name).payload.shape(), depth=depth)
            m.submodules[f"{name}_queue"] = queue
            connect(m, getattr(trigger, name), queue.i)
            connect(m, queue.o, flipped(getattr(self, name)))
        m.submodules.faults = faults = StreamArbiter(shape=self.shapes.fault, n=2)
        for source, sink in zip((trigger.o_fault, trigger.o_damage), faults.i, strict=True):
            connect(m, source, sink)
        connect(m, faults.o, flipped(self.o_fault))
        for name in ("i_start", "i_loaded", "i_lookup", "i_arrival", "i_credit", "i_done"):
            connect(m, flipped(getattr(self, name)), getattr(trigger, name))
        connect(m, trigger.o_lookup, flipped(self.o_lookup))
        connect(m, trigger.window.query, flipped(self.window).query)
        connect(m, flipped(self.window).answer, trigger.window.answer)
        return m
