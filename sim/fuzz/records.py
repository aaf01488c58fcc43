"""Mutated records of a format, many at once: templates with some fields at their edges, or at random."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from firmware_models.abi.format import Format

WORD_BITS = 64
_MOST_MUTATIONS = 4
_NOISE = 0.03
"""Share of records that are random bits from end to end."""

Words = NDArray[np.uint64]


def mutated(
    numbers: np.random.Generator, record: Format, templates: Sequence[Mapping[str, int]], count: int,
    *, addresses: Sequence[int] = (),
) -> Words:
    """`count` records, a row of words each.

    Each begins as one of `templates`; up to four of its fields then take another value: all zeros, all ones, one bit,
    the value of another template, one of `addresses` (in fields that are as wide), or random bits.
    """
    rows = np.array([np.frombuffer(record.pack(**template), "<u8") for template in templates], np.uint64)
    words = rows[numbers.integers(len(rows), size=count)].copy()
    others = rows[numbers.integers(len(rows), size=count)]
    fields = [(*divmod(offset, WORD_BITS), field.width) for field, offset in record.positions()
              if field.width <= WORD_BITS]
    n_mutations = numbers.integers(_MOST_MUTATIONS + 1, size=count)
    for number in range(_MOST_MUTATIONS):
        which = numbers.integers(len(fields), size=count)
        for index, (word, shift, width) in enumerate(fields):
            rows_hit = np.flatnonzero((which == index) & (n_mutations > number))
            values = _values(numbers, len(rows_hit), width, others[rows_hit, word] >> np.uint64(shift), addresses)
            mask = np.uint64((1 << width) - 1)
            kept = words[rows_hit, word] & ~(mask << np.uint64(shift))
            words[rows_hit, word] = kept | ((values & mask) << np.uint64(shift))
    noise = np.flatnonzero(numbers.random(count) < _NOISE)
    words[noise] = _random(numbers, words[noise].shape)
    return words


def _values(
    numbers: np.random.Generator, count: int, width: int, others: Words, addresses: Sequence[int],
) -> Words:
    """New values of a field in some records."""
    random = _random(numbers, count)
    one_bit = np.uint64(1) << numbers.integers(width, size=count, dtype=np.uint64)
    near = random
    if addresses and width == WORD_BITS:
        near = np.array(addresses, np.uint64)[numbers.integers(len(addresses), size=count)]
        near = near + numbers.integers(-72, 73, size=count).astype(np.uint64)
    few = numbers.integers(32, size=count, dtype=np.uint64)
    choices = np.stack([np.zeros(count, np.uint64), np.full(count, ~np.uint64(0)), one_bit, others, near, random, few])
    chosen: Words = choices[numbers.integers(len(choices), size=count), np.arange(count)]
    return chosen


def _random(numbers: np.random.Generator, shape: int | tuple[int, ...]) -> Words:
    return numbers.integers(0, 1 << 64, size=shape, dtype=np.uint64)
