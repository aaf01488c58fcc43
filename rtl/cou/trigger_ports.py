"""The ports of the order-preserving trigger."""

from typing import Any

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.config import Config
from rtl.abi import DescriptorControl, HashKey, PacketHeader
from rtl.cou.command import CouShapes
from rtl.cou.credit_table import credit_answer, credit_request
from rtl.cou.tag_table import answer_layout
from rtl.interface import TraceEvent, WindowSignature


def trigger_ports(config: Config, shapes: CouShapes) -> dict[str, Any]:
    """Members of :class:`rtl.cou.trigger.Trigger`.

    Members
    -------
    i_start : ``In(stream.Signature({job, pulse, offset, bytes}))``
        Pulses to be given contexts.
    select, operation, expired, expire :
        Look-up in the operation table, and the operations that are being given up.
    place, control :
        Look-up in the sequence store.
    o_load, i_loaded :
        Operand loader.
    o_lookup, i_lookup, o_meta, i_meta, i_arrival :
        Packet buffer.
    o_credit, i_credit, returned :
        Credit table.
    window : ``Out(WindowSignature())``
        Check of addresses that were not checked when the descriptor was taken.
    o_run, i_done :
        Aggregator.
    fault, fault_job, status, detail, progress, progress_job, write_started, write_job : ``Out``
        Reports to the operation table.
    damaged : ``Out(n_jobs)``
        A look-up for this operation came to a tag that could not be corrected.
    active, n_free : ``Out``
        Contexts, for the operation table.
    fired : ``Out(1)``
        Pulse: a descriptor has triggered.
    trace_event, trace_valid : ``Out``
        What happened in this cycle.
    """
    n_jobs, n_contexts = config.cou.n_jobs, config.cou.n_contexts
    arrival = data.StructLayout({"key": HashKey, "slot": shapes.packet})
    return {
        "moves": Out(1),
        "i_start": In(stream.Signature(shapes.start)),
        "select": Out(shapes.job), "operation": In(shapes.operation), "expired": In(1), "expire": In(n_jobs),
        "place": Out(data.StructLayout({"position": shapes.place, "job": shapes.job})),
        "control": In(DescriptorControl),
        "o_load": Out(stream.Signature(shapes.load)), "i_loaded": In(stream.Signature(shapes.loaded)),
        "o_lookup": Out(stream.Signature(HashKey)),
        "i_lookup": In(stream.Signature(answer_layout(shapes.packet))),
        "o_meta": Out(stream.Signature(data.StructLayout({"slot": shapes.packet}))),
        "i_meta": In(stream.Signature(PacketHeader)),
        "i_arrival": In(stream.Signature(arrival)),
        "o_credit": Out(stream.Signature(credit_request())),
        "i_credit": In(stream.Signature(credit_answer())), "returned": In(1),
        "window": Out(WindowSignature()),
        "o_run": Out(stream.Signature(shapes.run)), "i_done": In(stream.Signature(shapes.done)),
        "fault": Out(1), "fault_job": Out(shapes.job), "status": Out(8), "detail": Out(64),
        "progress": Out(1), "progress_job": Out(shapes.job),
        "write_started": Out(1), "write_job": Out(shapes.job),
        "damaged": Out(n_jobs),
        "active": Out(n_jobs), "n_free": Out(range(n_contexts + 1)),
        "node_id": In(formats.NODE_BITS),
        "fired": Out(1), "trace_valid": Out(1), "trace_event": Out(TraceEvent),
    }
