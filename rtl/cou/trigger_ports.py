"""The ports of the order-preserving trigger."""

from typing import Any

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.config import Config
from rtl.abi import DescriptorControl, HashKey, PacketHeader
from rtl.buffer.layouts import arrival_layout, hash_bits
from rtl.buffer.tag_table import answer_layout
from rtl.cou.activity import Doing
from rtl.cou.command import CouShapes
from rtl.credit.layouts import credit_answer, credit_request
from rtl.interface import STATUS_BITS, TraceEvent, WindowSignature


def trigger_ports(config: Config, shapes: CouShapes) -> dict[str, Any]:
    """Members of :class:`rtl.cou.trigger.Trigger`.

    Members
    -------
    i_start : ``In(stream.Signature(start))``
        Pulses to be given contexts; one is free when one is offered.
    select, operation, expired, status, fault_pending, expire :
        Look-up in the operation table, errors on their way to it, and the operations that a time-out ends.
    fetch, place, control :
        Look-up in the sequence store: the descriptor at address `place` a cycle after `fetch`, until the next one.
    o_load, i_loaded, loader_idle :
        Operand loader; it is idle.
    o_lookup, lookup_hash, i_lookup, i_arrival, meta_enable, meta_slot, meta :
        Packet buffer; with a look-up comes the hash of its key, unless the table has hashes of its own. The header in
        a slot comes a cycle after `meta_enable`, and stays until the next one. Answers to others are let pass.
    o_credit, credit_hold, i_credit, returned, returned_peer :
        Credit table.
    window : ``Out(WindowSignature())``
        Check of addresses that were not checked when the descriptor was taken.
    o_run, o_send, i_done :
        Aggregator: passes that combine or write, and those that only send; a pass has ended.
    o_fault, o_damage : ``Out(stream.Signature(fault))``
        Errors, for the operation table; tags of packets that could not be corrected.
    progress : ``Out(n_jobs)``
        Operations that make progress.
    write_started, write_job : ``Out``
        A write of a result to host memory begins.
    active, n_free : ``Out``
        Contexts, for the operation table.
    doing : ``Out(Doing)``
        Phases of the contexts, for the statistics.
    hold : ``In(1)``, held : ``Out(1)``
        It is to stand still; it does: it looks nothing up, and needs no header.
    fired : ``Out(1)``
        Pulse: a descriptor has triggered.
    trace_event, trace_valid : ``Out``
        Events for timelines, one a cycle.
    """
    n_jobs, n_contexts = config.cou.n_jobs, config.cou.n_contexts
    return {
        "i_start": In(stream.Signature(shapes.start)),
        "select": Out(shapes.job), "operation": In(shapes.operation), "expired": In(1), "status": In(STATUS_BITS),
        "fault_pending": In(1), "expire": In(n_jobs),
        "fetch": Out(1), "place": Out(data.StructLayout({"position": shapes.place, "job": shapes.job})),
        "control": In(DescriptorControl),
        "o_load": Out(stream.Signature(shapes.load)), "i_loaded": In(stream.Signature(shapes.loaded)),
        "loader_idle": In(1),
        "o_lookup": Out(stream.Signature(HashKey)),
        **({"lookup_hash": Out(hash_bits(config))} if hash_bits(config) else {}),
        "i_lookup": In(stream.Signature(answer_layout(shapes.packet))),
        "meta_enable": Out(1), "meta_slot": Out(shapes.packet), "meta": In(PacketHeader),
        "i_arrival": In(stream.Signature(arrival_layout(shapes.packet))),
        "o_credit": Out(stream.Signature(credit_request())),
        "credit_hold": Out(1), "i_credit": In(stream.Signature(credit_answer())), "returned": In(1),
        "returned_peer": In(formats.PEER_BITS),
        "window": Out(WindowSignature()),
        "o_run": Out(stream.Signature(shapes.run)), "o_send": Out(stream.Signature(shapes.send)),
        "i_done": In(stream.Signature(shapes.done)),
        "o_fault": Out(stream.Signature(shapes.fault)), "o_damage": Out(stream.Signature(shapes.fault)),
        "progress": Out(n_jobs),
        "write_started": Out(1), "write_job": Out(shapes.job),
        "doing": Out(Doing), "active": Out(n_jobs), "n_free": Out(range(n_contexts + 1)),
        "node_id": In(formats.NODE_BITS), "hold": In(1), "held": Out(1),
        "fired": Out(1), "trace_valid": Out(1), "trace_event": Out(TraceEvent),
    }
