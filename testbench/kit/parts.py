"""The stream parts that the kit's bench exercises, with sizes at the boundaries."""

from rtl.interface import beat
from rtl.kit.alternating_queue import AlternatingQueue
from rtl.kit.arbiter import PacketArbiter, StreamArbiter
from rtl.kit.memory import BlockMemory
from rtl.kit.queue import LUT_DEPTH, BlockQueue, LutQueue, stream_queue
from rtl.kit.register import RegisterPair
from rtl.kit.skid import SkidBuffer, TurnBuffer
from rtl.kit.stage import PacketStage, StreamStage
from testbench.bundle import Bundle

DATA_WIDTH = 64
QUEUE_DEPTHS = (1, 2, 3, 5, LUT_DEPTH, LUT_DEPTH + 1, 64)
BLOCK_DEPTHS = (4, 5, 9)
"""Of queues in synchronous memory that a build would have in LUTs."""
LUT_DEPTHS = (3, 5, LUT_DEPTH)
PATIENT = tuple((depth, full_rate) for depth in LUT_DEPTHS for full_rate in (0, 1))
"""Depths and rates of those that are not prompt."""
ALTERNATING_DEPTHS = (2, 3, 8, 9)
ARBITER_INPUTS = (1, 2, 5)
ARBITER_GAPS = (1, 2, 3)
"""Cycles from item to item: full rate, every second cycle, and a choice that takes a cycle of its own."""
PACKET_ARBITER_INPUTS = (1, 3)
ITEM = beat(16)
MEMORY_WIDTH, MEMORY_DEPTH = 16, 5
GRANULARITIES = (16, 8)
"""Bits that a write enable stands for: the whole word, a byte."""


def kit_bundle() -> Bundle:
    """All parts under one top."""
    return Bundle({
        **{
            f"queue_{depth}": stream_queue(shape=ITEM, depth=depth) for depth in QUEUE_DEPTHS
        },
        **{
            f"block_queue_{depth}": BlockQueue(shape=ITEM, depth=depth) for depth in BLOCK_DEPTHS
        },
        **{
            f"half_rate_queue_{depth}": LutQueue(shape=ITEM, depth=depth, full_rate=False) for depth in LUT_DEPTHS
        },
        "register_pair": RegisterPair(shape=ITEM),
        **{
            f"patient_queue_{depth}_{full_rate}": LutQueue(
                shape=ITEM, depth=depth, full_rate=bool(full_rate), prompt=False
            ) for depth, full_rate in PATIENT
        },
        **{
            f"unguarded_queue_{depth}": stream_queue(shape=ITEM, depth=depth, guarded=False) for depth in QUEUE_DEPTHS
        },
        **{
            f"alternating_{depth}": AlternatingQueue(shape=ITEM, depth=depth, key=lambda item: item.data[8:10])
            for depth in ALTERNATING_DEPTHS
        },
        **{
            f"preferring_{depth}": AlternatingQueue(
                shape=ITEM, depth=depth, key=lambda item: item.data[8:10], kind=lambda item: item.last
            ) for depth in ALTERNATING_DEPTHS
        },
        "skid": SkidBuffer(shape=ITEM),
        "turn": TurnBuffer(shape=ITEM),
        **{
            f"memory_{bits}": BlockMemory(
                shape=MEMORY_WIDTH, depth=MEMORY_DEPTH, granularity=None if bits == MEMORY_WIDTH else bits
            ) for bits in GRANULARITIES
        },
        **{
            f"arbiter_{n}_{gap}": StreamArbiter(shape=ITEM, n=n, full_rate=gap == 1, chooses_ahead=gap == 3)
            for n in ARBITER_INPUTS for gap in ARBITER_GAPS
        },
        **{
            f"stage_{registers:d}_{full_rate:d}": StreamStage(shape=ITEM, registers=registers, full_rate=full_rate)
            for registers in (False, True) for full_rate in (False, True)
        },
        **{
            f"packet_stage_{registers:d}": PacketStage(data_width=DATA_WIDTH, registers=registers)
            for registers in (False, True)
        },
        **{
            f"packet_arbiter_{n}_{ahead:d}": PacketArbiter(data_width=DATA_WIDTH, n=n, chooses_ahead=ahead)
            for n in PACKET_ARBITER_INPUTS for ahead in (False, True)
        },
    })
