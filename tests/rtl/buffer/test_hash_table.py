"""The hash table against a dictionary, and the spread of the hash function.

The bench was seen to fail with each of these faults planted in ``LinearTable``: an entry cleared without a backward
shift (the plain deletion that loses keys); the shift ended at the first entry that cannot move; look-ups that do not
start over when entries moved; `going` without its last cycle; a removal that does not compare the slot; an entry at
home in the hole that is not moved there.
"""

from itertools import islice, product
from random import Random

import pytest

from rtl.buffer.cuckoo_table import CuckooTable
from rtl.buffer.hash_function import KEY_BITS, hash_columns
from rtl.buffer.linear_table import LinearTable
from testbench.buffer.hash_keys import colliding_keys, hash_of, structured_keys
from testbench.runner import run_bench


def churn(mode: str, operations: int, *, ecc: bool = False) -> None:
    if mode == "cuckoo":
        table = CuckooTable(n_entries=64, slot_bits=7, stash=4, ecc=ecc)
        places = {"banks": table.banks, "index_bits": table.index_bits, "most": 63, "colliding": 30}
    else:
        table = LinearTable(n_entries=32, slot_bits=6, ecc=ecc)
        places = {"banks": 1, "index_bits": 5, "most": 31, "colliding": 16}
    parameters = {"mode": mode, "n_entries": table.n_entries, "slot_bits": table.slot_bits, "operations": operations}
    result = run_bench(table, bench="testbench.buffer.hash_table_bench", parameters={**parameters, **places})
    assert result.tests == 15
    for name, counts in result.report.items():
        print(name, counts)


@pytest.mark.parametrize("mode", ["cuckoo", "linear"])
def test_tag_table(mode):
    """Inserts, removals and look-ups at once, at every load."""
    churn(mode, 20_000)


@pytest.mark.long
@pytest.mark.parametrize("ecc", [False, True])
@pytest.mark.parametrize("mode", ["cuckoo", "linear"])
def test_tag_table_for_long(mode, ecc):
    churn(mode, 200_000, ecc=ecc)


@pytest.mark.parametrize("index_bits", [7, 8, 12])
def test_every_bit_of_the_key_counts(index_bits):
    columns = hash_columns(index_bits)
    assert len(columns) == KEY_BITS
    assert all(0 < column < 1 << index_bits for column in columns)


def steps_when_half_full(keys, index_bits: int) -> tuple[float, int]:
    """Mean and most entries read while `keys` go into an empty table by linear probing."""
    mask = (1 << index_bits) - 1
    used: set[int] = set()
    steps = []
    for key in keys:
        at, count = hash_of(key, index_bits), 1
        while at in used:
            at, count = at + 1 & mask, count + 1
        used.add(at)
        steps.append(count)
    return sum(steps) / len(steps), max(steps)


@pytest.mark.parametrize("index_bits", [7, 8, 10])
@pytest.mark.parametrize("n_jobs", [1, 2, 4, 16])
def test_structured_keys_spread(index_bits, n_jobs):
    """With all slots in use, no key of those that operations make needs more than 12 steps (random ones: up to 28)."""
    for n_steps, n_pulses, node_id in product((1, 2, 5, 8, 32), (1, 2, 8), (0, 5, 31)):
        keys = structured_keys(n_jobs=n_jobs, n_steps=n_steps, n_pulses=n_pulses, node_id=node_id)
        mean, most = steps_when_half_full(islice(keys, 1 << (index_bits - 1)), index_bits)
        assert mean < 2.5, (n_steps, n_pulses, node_id)
        assert most <= 12, (n_steps, n_pulses, node_id)


def test_colliding_keys_collide():
    keys = list(islice(colliding_keys(6, 4, Random(1), home=9), 50))
    assert len(set(keys)) == 50
    assert {hash_of(key, 6) for key in keys} == {9}
    assert {hash_of(key, 6, bank=bank) for key in keys for bank in (1, 2, 3)} == {0}


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("bad", [0, 1, 3, 2.0, "4"])
def test_sizes_are_checked(bad):
    with pytest.raises(ValueError, match=f"^n_entries must be a power of two from 2 on, not {bad!r}$"):
        LinearTable(n_entries=bad, slot_bits=4)
    with pytest.raises(ValueError, match=r"^slot_bits must be a positive integer, not 0$"):
        LinearTable(n_entries=4, slot_bits=0)
    with pytest.raises(ValueError, match=r"^index_bits must be 1 to 64, not 0$"):
        hash_columns(0)
