"""Numbers that cannot be guessed by counting."""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats

N_ROUNDS = 22
"""Rounds of Speck32/64."""
WORD_BITS = 16
KEY_WORDS = 4
ROTATED_RIGHT, ROTATED_LEFT = 7, 2
"""Bits by which a round rotates the two halves of its block."""

AnswerKey = data.StructLayout({"words": data.ArrayLayout(WORD_BITS, KEY_WORDS), "written": 2})
"""A key, its word 0 the first round's; and a pulse for each half of it: that has been written."""

_Cipher = data.StructLayout({"x": WORD_BITS, "y": WORD_BITS, "key": data.ArrayLayout(WORD_BITS, KEY_WORDS)})
"""Both halves of a block, the key of its next round, and the words from which later ones are made."""


class NonceSource(wiring.Component):
    """Makes the nonces of operations: the blocks 0, 1, 2 ... encrypted by Speck32/64 (counter mode).

    A node that is asked learns the nonces of the operations that ask it. As the cipher is a permutation under a secret
    key, they tell it nothing of others; none comes twice within 2**32. Speck: R. Beaulieu et al., "The SIMON and SPECK
    Families of Lightweight Block Ciphers", IACR ePrint 2013/404, which has the test vector of the bench.

    A write of the key withdraws the nonce on offer, which the key before it has made. Blocks are counted on.

    Timing: a round a cycle. The next nonce is made while one is on offer, so that one every 22 cycles can be taken; the
    first is there 22 cycles after a reset or a write of the key.

    Members
    -------
    key : ``In(AnswerKey)``
        The key: 0 is one as well.
    o : ``Out(stream.Signature(32))``
        Nonces. One on offer stays until it is taken, or the key is written.
    """

    key: In(AnswerKey)
    o: Out(stream.Signature(formats.NONCE_BITS))

    def elaborate(self, platform):
        m = Module()
        # Reset leaves block 0 and key 0, as if they had been loaded.
        cipher, index = Signal(_Cipher), Signal(range(N_ROUNDS))
        block = Signal(2 * WORD_BITS, init=1)
        x, y, schedule = _round(cipher, index)
        is_last, ends = Signal(), Signal()
        m.d.comb += [
            is_last.eq(index == N_ROUNDS - 1), ends.eq(is_last & (~self.o.valid | self.o.ready)),
        ]
        with m.If(~is_last):
            m.d.sync += [cipher.x.eq(x), cipher.y.eq(y), cipher.key.eq(schedule), index.eq(index + 1)]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(ends):
            m.d.sync += [self.o.valid.eq(1), self.o.payload.eq(Cat(y, x))]
        with m.If(self.key.written.any()):
            m.d.sync += self.o.valid.eq(0)
        with m.If(ends | self.key.written.any()):
            m.d.sync += [
                cipher.y.eq(block[:WORD_BITS]), cipher.x.eq(block[WORD_BITS:]), cipher.key.eq(self.key.words),
                index.eq(0), block.eq(block + 1),
            ]
        return m


def _round(cipher: data.View, index: Value) -> tuple[Value, Value, Value]:
    """Returns both halves of the block, and the words of the key, after a round."""
    key = cipher.key
    x = (cipher.x.rotate_right(ROTATED_RIGHT) + cipher.y)[:WORD_BITS] ^ key[0]
    y = cipher.y.rotate_left(ROTATED_LEFT) ^ x
    later = (key[1].rotate_right(ROTATED_RIGHT) + key[0])[:WORD_BITS] ^ index
    following = key[0].rotate_left(ROTATED_LEFT) ^ later
    return x, y, Cat(following, key[2], key[3], later)
