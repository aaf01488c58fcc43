"""Messages whose lengths lie at the boundaries of flit, block and pulse, and an element beside them."""

import numpy as np

from firmware_models.abi.encoding import Datatype
from testbench.cou.operation_model import ELEMENTS, Operation


def whole(random_, flit: int, mtu: int, datatype: Datatype) -> dict:
    """A message in one block; its length lies at a boundary of flit or pulse, or an element beside it."""
    size = np.dtype(ELEMENTS[datatype]).itemsize
    pulse_bytes = random_.choice([pulse for pulse in (64, 128, 256) if pulse <= mtu])
    edge = random_.choice((flit, 64, pulse_bytes, 2 * pulse_bytes, 3 * pulse_bytes))
    return {
        "length": random_.choice((0, edge - size, edge, min(edge + size, 3 * pulse_bytes))), "datatype": datatype,
        "pulse_bytes": pulse_bytes, "n_descriptors": random_.choice((1, 2, 3, 5)), "max_packets": 4,
    }


def in_blocks(random_, flit: int, mtu: int, datatype: Datatype) -> dict:
    """A message in blocks, whose size lies at a boundary or an element beside it; the last ones are short or empty."""
    size = np.dtype(ELEMENTS[datatype]).itemsize
    block_count = random_.choice((2, 3, 5, 8))
    pulse_bytes = random_.choice((16, 32, 48, 64))
    edge = random_.choice((0, size, flit, pulse_bytes, 2 * pulse_bytes, 3 * pulse_bytes))
    block = min(max(0, edge + random_.choice((-size, 0, size))), 3 * pulse_bytes)
    # So many elements that a block has `block` bytes: the last ones are shorter, by one element each or more.
    least = max(0, (block // size - 1) * block_count + 1) if block else 0
    n_pulses = max(1, -(-block // pulse_bytes))
    return {
        "length": size * random_.choice((least, block // size * block_count, random_.randint(
            least, block // size * block_count
        ))),
        "datatype": datatype, "pulse_bytes": pulse_bytes, "block_count": block_count,
        "widest": min(block_count, mtu // pulse_bytes),
        "n_descriptors": random_.choice((1, 2, 3, 5, 8)), "max_packets": 14 // n_pulses,
    }


def shape_of(operation: Operation) -> str:
    """Description of an operation by which a failure can be found again."""
    head = operation.descriptors[0]
    names = ("length", "pulse_bytes", "block_count", "datatype")
    slices = [(desc.get("slice_first", 0), desc.get("slice_count", 0)) for desc in operation.descriptors]
    return ", ".join(f"{name} {head[name]}" for name in names) + f", slices {slices}"
