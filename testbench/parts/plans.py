"""Plans by the meaning of the descriptors' fields: what a context does next, and all fields of its pass that count.

Source: NIC paper, section 1.2 and figure 2; ``docs/abi.md`` for the fields beyond it.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.lib import data

from firmware_models.abi.encoding import Operand, PacketType, Right, Status
from rtl.abi import DescriptorControl, PacketHeader
from rtl.cou.context_signatures import look_layout
from rtl.cou.pass_planner import progress_layout, slice_layout
from rtl.cou.shapes import CouShapes, Select, Source
from testbench.parts.simulation import fields

Fields = dict[str, Any]


def unpack(shape: Any, bits: int) -> Fields:
    """The fields of a struct, those of structs within it too."""
    found = fields(shape, bits)
    return {name: unpack(field.shape, found[name]) if isinstance(field.shape, data.StructLayout) else found[name]
            for name, field in shape}


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any], path: str = "") -> list[str]:
    """Fields that are wanted and differ."""
    lines = []
    for name, value in wanted.items():
        if isinstance(value, Mapping):
            lines += differences(found[name], value, f"{path}{name}.")
        elif found[name] != int(value):
            lines.append(f"{path}{name} is {found[name]}, not {int(value)}")
    return lines


@dataclass
class Situation:
    """A context with its descriptor, its packet and its operation."""

    context: int
    look: Fields
    progress: Fields
    slice: Fields
    desc: Fields
    operation: Fields
    packet: Fields
    node_id: int
    expired: int = 0
    status: int = 0


def draw(rng: random.Random, shapes: CouShapes) -> Situation:
    """A situation in which each choice of a plan is likely."""
    def some(shape: Any, **named: int) -> Fields:
        return unpack(shape, rng.getrandbits(shape.size)) | named

    consumed = rng.choice((0, 1, 255, 0xFFFF, rng.getrandbits(16)))
    left = min(rng.choice((0, 1, 1, 2, 16)), 0xFFFF - consumed)
    there = int(left > 0 and rng.random() < 0.7)
    size = rng.choice((0, 8, 64, 48))
    terms = rng.choice((0, rng.getrandbits(16)))
    theirs = rng.choice((0, terms, rng.getrandbits(16)))
    operation = some(shapes.operation, terms=terms)
    operation["blocks"]["cut"] = rng.getrandbits(1)
    return Situation(
        context=rng.getrandbits(shapes.context),
        look=some(look_layout(shapes), packet_there=there, sure=int(there and rng.random() < 0.7), measured=1),
        progress=some(progress_layout(shapes), consumed=consumed, clear=int(rng.random() < 0.1)),
        slice=some(slice_layout(shapes), size=size),
        desc=some(DescriptorControl, cp_count=consumed + left),
        operation=operation,
        packet=some(PacketHeader, length=rng.choice((size, size, size, 16)), coll_end=int(rng.random() < 0.2),
                    addr=rng.getrandbits(48) << 16 | theirs,
                    status=rng.choice((0, 0, Status.PEER_ERROR.value, Status.TIMEOUT.value))),
        node_id=rng.getrandbits(24), expired=int(rng.random() < 0.15),
        status=rng.choice((0, 0, 0, Status.MEMORY_ERROR.value)),
    )


def plan_of(s: Situation) -> Fields:
    """The plan. Fields of requests are there if they count."""
    progress, desc, packet, blocks = s.progress, s.desc, s.packet, s.operation["blocks"]
    clear, first, size = progress["clear"], not progress["middle"], s.slice["size"]
    # Clearing comes before anything else; an operation that is ended does not wait for what is only announced.
    there = bool(s.look["packet_there"] and (s.look["sure"] or not s.expired))
    takes = not clear and progress["consumed"] != desc["cp_count"]
    goes_on = not clear and not s.expired
    coll_end = bool(takes and packet["coll_end"])
    final = coll_end or not takes or (progress["consumed"] + 1) % (1 << 16) == desc["cp_count"]
    sends = bool(final and desc["cp"] and not coll_end and goes_on)
    brings_address = bool(takes and packet["swap_addr"] and not blocks["cut"])
    writes = bool(goes_on and size and (coll_end or (final and desc["write_back"])))
    foreign = bool(writes and takes and (brings_address or not desc["write_back"]))

    replaces = bool(packet["swap_data"] or desc["swap_local_data"])
    wants_data = takes and goes_on and (replaces or bool(desc["reduce_flag"]))
    fits = packet["length"] == size
    uses = bool(wants_data and fits and size)
    mismatch = bool(wants_data and not fits)
    marked = bool(takes and packet["status"])
    theirs = packet["addr"] & 0xFFFF
    differs = bool(takes and not packet["swap_addr"] and theirs and s.operation["terms"]
                   and theirs != s.operation["terms"])

    needs = first and size and goes_on and not s.look["loaded"]
    fill = bool(needs and desc["operand"] == Operand.PAYLOAD)
    loads = bool(needs and desc["operand"] == Operand.MEMORY)
    source = Source.ZERO
    if clear:
        pass
    elif not first or desc["operand"] == Operand.INTERMEDIATE:
        if progress["has_data"]:
            source = Source.OPERAND if progress["in_operand"] else Source.RESULT
    elif s.look["loaded"] or fill:
        source = Source.OPERAND
    select = Select.PASS_A
    if uses:
        select = Select.PASS_B if replaces or (first and desc["operand"] == Operand.NONE) else Select.COMBINE

    # A pass that takes no packet and writes nothing can be sent from where the data lie. Operands of a message in
    # blocks stay in the operand memory only if nothing reads them later.
    stays = source is Source.RESULT or (
        source is Source.OPERAND and (not blocks["cut"] or bool(final and s.operation["lazy"])))
    direct = bool(not takes and not writes and not clear and (stays or not size))

    absent, timed_out = takes and not there, bool(s.expired and not there)
    step = next(name for name, reason in (
        ("search", timed_out and absent), ("give_up", timed_out), ("load", loads), ("ask", absent), ("check", foreign),
        ("credit", sends), ("run", True)) if reason)
    names = ("search", "give_up", "load", "ask", "check", "credit", "run")
    plan: Fields = {
        "context": s.context, "job": s.look["job"], "position": s.look["position"],
        "step": {name: name == step for name in names}, "fill": fill, "unsure": there and not s.look["sure"],
        "consumed": progress["consumed"], "wanted": (desc["cp_count"] - progress["consumed"]) % (1 << 16),
        "sends": sends, "foreign": foreign, "mismatch": mismatch, "marked": marked, "differs": differs,
        "remarkable": mismatch or marked or differs, "direct": direct, "final": (final and not clear) or s.expired,
        "ends": bool((final and desc["ct"] and not clear) or coll_end or s.expired), "cut": blocks["cut"],
        "clears": clear, "members": desc["members"], "key": _key(s),
        "after": progress | {
            "consumed": (progress["consumed"] + takes) % (1 << 16), "has_data": 1, "clear": 0,
            "middle": not clear and not (final or s.expired),
            "in_operand": direct and not blocks["cut"] and source is Source.OPERAND,
        },
    }
    if marked or mismatch or differs:
        plan |= {"marked_by": packet["source_id"], "mark": packet["status"], "brought_bytes": packet["length"],
                 "brought_terms": theirs}
    if loads or fill:
        plan["load"] = _load(s)
    if foreign:
        plan["query"] = {
            "addr": packet["addr"] if brings_address else desc["result_addr"],
            "bytes": size if brings_address else s.operation["length"],
            "right": Right.REMOTE_WRITE if brings_address else Right.LOCAL_WRITE,
        }
    output: Fields = {
        "context": s.context, "job": s.look["job"], "position": s.slice["position"], "bytes": size, "send": sends,
        "write_back": writes, "pieces": s.slice["pieces"],
    }
    if writes:
        own = (desc["result_addr"] + s.slice["start"]) % (1 << 64)
        output["result_addr"] = packet["addr"] if brings_address else own
    if sends:
        output["header"] = _header(s, takes=takes, mismatch=mismatch, marked=marked, differs=differs)
    plan["run"] = {
        "a": source.value, "select": select.value, "use_packet": uses, "datatype": desc["datatype"],
        "operator": desc["operator"], "consume": takes, "output": output,
    }
    if takes:
        plan["run"] |= {"packet": s.look["packet"], "key": _key(s), "credit": _credit(s)}
    return plan


def _key(s: Situation) -> Fields:
    """Key of the packet that comes next."""
    return {"job_id": s.operation["job_id"], "node_id": s.node_id, "vp": s.operation["vp"],
            "seq_id": (s.progress["consumed"] + s.desc["seq_skip"]) % 32, "pulse": s.progress["pulse"], "fragment": 0}


def _load(s: Situation) -> Fields:
    """The load of the operand."""
    payload = s.desc["operand"] == Operand.PAYLOAD
    addr = (0 if payload else s.desc["local_addr"]) + s.slice["start"]
    return {"context": s.context, "job": s.look["job"], "position": s.look["position"], "from_payload": payload,
            "addr": addr % (1 << 64), "pieces": s.slice["pieces"]}


def _credit(s: Situation) -> Fields:
    """The CREDIT packet to the sender of the packet that is consumed."""
    packet, single = s.packet, not s.packet["multicast"]
    return {
        "job_id": s.operation["job_id"], "source_vp": s.operation["vp"], "peer": packet["peer"],
        "dest_id": packet["source_id"], "dest_vp": packet["source_vp"], "window_slot": packet["tag"] % 4, "credits": 1,
        "loan": packet["loan"] and single, "want": packet["want"] and single, "shared": packet["loan"] and single,
    }


def _header(s: Situation, *, takes: bool, mismatch: bool, marked: bool, differs: bool) -> Fields:
    """Header of the packet that is sent, but for the fields that a credit brings."""
    desc, operation, status = s.desc, s.operation, s.status
    if not status:
        # The first error of the operation may be one that this very pass reports.
        status = (Status.BAD_TERMS if differs else Status.PEER_ERROR if marked
                  else Status.LENGTH_MISMATCH if mismatch else Status.OK).value
    same = ("coll_end_flag", "coll_end"), ("swap_remote_data", "swap_data"), ("swap_remote_addr", "swap_addr")
    return {
        "type": PacketType.COLLECTIVE, "version": 1, "seq_id": desc["out_seq_id"], "job_id": operation["job_id"],
        **{there: desc[here] for here, there in same}, "status": status, "fragment": 0, "credits": 0,
        **{name: desc[name] for name in ("peer", "dest_id", "multicast", "mlid")}, "length": s.slice["size"],
        "dest_vp": s.packet["source_vp"] if desc["swap_local_vp"] and takes else desc["dest_vp"],
        "source_vp": operation["vp"], "source_id": s.node_id, "pulse": s.progress["pulse"],
        "addr": (desc["remote_addr"] + s.progress["offset"]) % (1 << 64) if desc["swap_remote_addr"]
        else operation["terms"],
    }
