"""Keys of collective packets, as numbers: random, as operations make them, hostile, and all of these mixed."""

from collections.abc import Iterator
from random import Random
from typing import Any

from firmware_models.abi import formats
from testbench.buffer.hash_keys import colliding_keys

PATTERNS = ("random", "structured", "adversarial", "mixed")
_fields = ("seq_id", "fragment", "pulse", "vp", "node_id", "job_id")


def keys_of(pattern: str, *, shape: Any, numbers: Random) -> Iterator[int]:
    """Keys without end; some may come twice.

    Parameters
    ----------
    pattern : str
        ``random``: any bits. ``structured``: consecutive SeqIDs, fragments, pulses, VPs, NodeIDs and jobs, the fields
        varying in an order that changes from block to block. ``adversarial``: every key has the same row in every
        bank. ``mixed``: random and structured keys in turn, and a few hostile ones, as many as a row can hold.
    shape : TableShape
        The table that hostile keys are made for.
    numbers : Random
        Source of chance.
    """
    match pattern:
        case "random":
            while True:
                yield numbers.getrandbits(formats.HASH_KEY.width)
        case "structured":
            yield from _structured(numbers)
        case "adversarial":
            yield from _colliding(shape, numbers)
        case "mixed":
            others = keys_of("random", shape=shape, numbers=numbers), _structured(numbers)
            hostile = _colliding(shape, numbers)
            room = shape.banks * shape.ways // 2 if shape.mode == "cuckoo" else 8
            few = [next(hostile) for _ in range(room)]
            yield from few
            while True:
                yield next(others[0])
                yield next(others[1])
        case _:
            raise ValueError(f"keys must be one of {', '.join(PATTERNS)}, not {pattern!r}")


def _structured(numbers: Random) -> Iterator[int]:
    while True:
        # A block of consecutive numbers in each of some fields, the others fixed: what one set of operations holds.
        order = list(_fields)
        numbers.shuffle(order)
        width = {field.name: field.width for field in formats.HASH_KEY.fields}
        base = {name: numbers.getrandbits(width[name]) for name in _fields}
        counts = [32, 8, 4]
        varying = order[:3]
        for position in range(counts[0] * counts[1] * counts[2]):
            key, rest = dict(base), position
            for name, count in zip(varying, counts, strict=True):
                count = min(count, 1 << width[name])
                key[name] = (base[name] + rest % count) % (1 << width[name])
                rest //= count
            yield formats.HASH_KEY.to_int(key)


def _colliding(shape: Any, numbers: Random) -> Iterator[int]:
    """Keys that have row 0 in every bank."""
    banks = shape.banks if shape.mode == "cuckoo" else 1
    rows = shape.entries // (shape.banks * shape.ways) if shape.mode == "cuckoo" else shape.entries
    yield from colliding_keys((rows - 1).bit_length(), banks, numbers)
