"""Streams of hash keys for benches, as numbers: random, as operations make them, and hostile."""

from collections.abc import Iterator
from random import Random

from firmware_models.abi import formats
from rtl.buffer.hash_function import hash_columns


def hash_of(key: int, index_bits: int, *, bank: int = 0) -> int:
    """The hash function in Python."""
    digest = 0
    for bit, column in enumerate(hash_columns(index_bits, bank=bank)):
        digest ^= column if key >> bit & 1 else 0
    return digest


def random_keys(numbers: Random) -> Iterator[int]:
    """Any keys."""
    while True:
        yield numbers.getrandbits(formats.HASH_KEY.width)


def structured_keys(*, n_jobs: int = 4, n_steps: int = 8, n_pulses: int = 2, node_id: int = 5) -> Iterator[int]:
    """Keys as operations make them: consecutive SeqIDs and pulses of consecutive jobs, at one node."""
    base = 0
    while True:
        for job in range(n_jobs):
            for pulse in range(base, base + n_pulses):
                for seq in range(n_steps):
                    yield formats.HASH_KEY.to_int({
                        "job_id": job, "node_id": node_id, "vp": job, "seq_id": seq % 32, "pulse": pulse % (1 << 16),
                    })
        base += n_pulses


def colliding_keys(index_bits: int, banks: int, numbers: Random, *, home: int = 0) -> Iterator[int]:
    """Different keys whose hashes, those of all `banks` side by side, are `home`, in random order.

    The hash is linear, so they are found by solving: a random key is corrected by unit keys whose hashes form a basis.
    """
    columns = [0] * formats.HASH_KEY.width
    for bank in range(banks):
        for bit, column in enumerate(hash_columns(index_bits, bank=bank)):
            columns[bit] |= column << (bank * index_bits)
    basis: dict[int, tuple[int, int]] = {}
    for bit, column in enumerate(columns):
        digest, key = column, 1 << bit
        while digest and digest.bit_length() in basis:
            other, other_key = basis[digest.bit_length()]
            digest, key = digest ^ other, key ^ other_key
        if digest:
            basis[digest.bit_length()] = digest, key
    while True:
        key = numbers.getrandbits(formats.HASH_KEY.width)
        digest = home
        for bit, column in enumerate(columns):
            digest ^= column if key >> bit & 1 else 0
        while digest:
            other, other_key = basis[digest.bit_length()]
            digest, key = digest ^ other, key ^ other_key
        yield key
