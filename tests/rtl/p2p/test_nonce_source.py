"""Nonces: the blocks of Speck32/64 in counter mode, taken at random times, under keys that change."""

import random

import pytest

from rtl.p2p.nonce_source import N_ROUNDS, AnswerKey, NonceSource
from testbench.parts.faults import changed
from testbench.parts.simulation import Takes, run

CYCLES = 3000
PUBLISHED = (0x1918_1110_0908_0100, 0x6574_694C, 0xA868_42F2)
"""Key, plain text and cipher text of the paper's test vector."""


def speck(key: int, block: int) -> int:
    """Speck32/64 of a block, as the paper defines it: first the whole key schedule, then the rounds."""
    def right(word: int) -> int:
        return word >> 7 | word << 9 & 0xFFFF

    def left(word: int) -> int:
        return word << 2 & 0xFFFF | word >> 14

    round_key, *later = (key >> 16 * k & 0xFFFF for k in range(4))
    keys = [round_key]
    for k in range(21):
        later.append((keys[k] + right(later[k]) & 0xFFFF) ^ k)
        keys.append(left(keys[k]) ^ later[k + 3])
    x, y = block >> 16, block & 0xFFFF
    for key_word in keys:
        x = (right(x) + y & 0xFFFF) ^ key_word
        y = left(y) ^ x
    return x << 16 | y


def test_model() -> None:
    key, plain, cipher = PUBLISHED
    assert speck(key, plain) == cipher


class Keys:
    """Writes halves of the key now and then; notes the blocks that each key has begun."""

    def __init__(self, part: NonceSource, rng: random.Random, rate: float):
        self.part, self.rng, self.rate = part, rng, rate
        self.words, self.written = [0] * 4, 0

    def drive(self, context: object) -> None:
        """Writes, or not."""
        self.written = 0
        if self.rng.random() < self.rate:
            half = self.rng.randrange(2)
            self.words[2 * half:2 * half + 2] = (self.rng.getrandbits(16) for _ in range(2))
            self.written = 1 << half
        value = AnswerKey.const({"words": self.words, "written": self.written})
        context.set(self.part.key.as_value(), value.as_bits())

    def settle(self, read: object) -> None:
        """Nothing comes back."""

    @property
    def key(self) -> int:
        """The key as one number."""
        return sum(word << 16 * k for k, word in enumerate(self.words))


@pytest.mark.parametrize(("rate", "taken", "seed"), [(0, 1, 0), (0, 0.02, 1), (0.01, 0.5, 2), (0.05, 0.03, 3)])
def test_nonces(rate: float, taken: float, seed: int) -> None:
    rng, part = random.Random(seed), NonceSource()
    keys, nonces = Keys(part, rng, rate), Takes(part.o, rng, overtaken=True)
    nonces.rate = taken
    # The block in the cipher, its key and rounds; and the nonce on offer.
    block, key, rounds, offer = 0, 0, 0, None
    expected = []

    def step(read) -> None:
        nonlocal block, key, rounds, offer
        valid, ready = read(part.o.valid), read(part.o.ready)
        assert valid == (offer is not None)
        if valid:
            assert read(part.o.payload) == offer
            if ready:
                expected.append(offer)
                offer = None
        if rounds == N_ROUNDS - 1 and offer is None:
            offer, rounds = speck(key, block), N_ROUNDS
        elif rounds < N_ROUNDS - 1:
            rounds += 1
        if keys.written:
            offer = None
        if keys.written or rounds == N_ROUNDS:
            block, key, rounds = block + 1, keys.key, 0

    run(part, [keys, nonces], step=step, cycles=CYCLES, rng=rng)
    assert nonces.taken == expected
    assert len(expected) > (3 if rate > 0.04 else 40)


@pytest.mark.parametrize("taken", [1, 0.5])
def test_rate(taken: float) -> None:
    """One can be taken every 22 cycles; one that waits, and the next, are there at once."""
    rng, part = random.Random(4), NonceSource()
    nonces = Takes(part.o, rng)
    nonces.rate = taken
    run(part, [nonces], cycles=50 * N_ROUNDS + 1, rng=rng)
    assert len(nonces.taken) >= (50 if taken == 1 else 48)
    assert len(set(nonces.taken)) == len(nonces.taken)


def check_several() -> None:
    """Under one key, taken seldom; under keys that change, taken often."""
    test_nonces(0, 0.02, 1)
    test_nonces(0.01, 0.5, 2)


@pytest.mark.parametrize(("old", "new"), [
    pytest.param("cipher.x.rotate_right", "cipher.x.rotate_left", id="rotation"),
    pytest.param("N_ROUNDS = 22", "N_ROUNDS = 21", id="round-less"),
    pytest.param("block.eq(block + 1)", "block.eq(block)", id="counter-stands"),
    pytest.param("[:WORD_BITS] ^ index", "[:WORD_BITS]", id="schedule-without-its-number"),
    pytest.param("Cat(following, key[2], key[3], later)", "Cat(following, key[2], later, key[3])", id="schedule-order"),
    pytest.param("(~self.o.valid | self.o.ready)", "1", id="offer-overwritten"),
    pytest.param("with m.If(ends | self.key.written.any()):", "with m.If(ends):", id="goes-on-with-the-old-key"),
    pytest.param("with m.If(self.key.written.any()):", "with m.If(0):", id="offer-of-the-old-key"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "NonceSource", changed(NonceSource, old, new))
    with pytest.raises(AssertionError):
        check_several()
