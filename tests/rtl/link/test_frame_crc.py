"""CRCs of a link's words: each word beside a CRC-32C bit by bit, and faults of the wire beside what was done to it."""

import random
from collections import Counter

import pytest

from rtl.link.crc import data_terms, state_terms
from rtl.link.frame_crc import CrcCheck, CrcInsert
from testbench.parts.simulation import run

WIDTHS = (64, 128, 512)
CRC_BITS, ONES = 32, (1 << 32) - 1


def crc_state(state: int, value: int, bits: int) -> int:
    """The register of a CRC-32C after `bits` of `value` have gone in, the lowest first."""
    for place in range(bits):
        state, odd = state >> 1, (state ^ value >> place) & 1
        state ^= 0x82F63B78 if odd else 0
    return state


def test_the_model_is_the_standard_crc() -> None:
    """The check value of CRC-32C in every catalogue: that of the digits from 1 to 9."""
    assert crc_state(ONES, int.from_bytes(b"123456789", "little"), 72) ^ ONES == 0xE3069283


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(2))
def test_insert(width: int, seed: int) -> None:
    """Data go through unchanged, control words get the CRC of all since reset, two cycles later, gaps as they come."""
    rng, part = random.Random(seed), CrcInsert(data_width=width)
    expected: list[tuple[int, int, int]] = [(0, 0, 0)] * 2
    counts: Counter[str] = Counter()
    state = ONES

    class Words:
        def drive(self, context) -> None:
            nonlocal state
            valid, control = rng.random() < 0.7, rng.random() < 0.3
            fields, data = rng.getrandbits(CRC_BITS), rng.getrandbits(width)
            context.set(part.i, {"valid": valid, "control": control, "fields": part.i.fields.shape().from_bits(fields),
                                 "data": data})
            if valid and control:
                state = crc_state(state, fields, width - CRC_BITS)
                data = fields | (state ^ ONES) << width - CRC_BITS
            elif valid:
                state = crc_state(state, data, width)
            counts["control" if control else "data"] += valid
            expected.append((valid, control, data))

        def settle(self, read) -> None:
            valid, control, data = expected.pop(0)
            assert read(part.o.valid) == valid
            if valid:
                assert (read(part.o.control), read(part.o.data)) == (control, data)

    run(part, [Words()], cycles=300, rng=rng)
    assert min(counts["control"], counts["data"]) > 30


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(2))
def test_check(width: int, seed: int) -> None:
    """A control word is good if nothing was done to it or since the last one, nor to the CRC that it goes on from."""
    rng, part = random.Random(seed), CrcCheck(data_width=width)
    counts: Counter[str] = Counter()
    seen: tuple[int, int, int, int] = (0, 0, 0, 0)
    state, harmed, queue = ONES, True, list[tuple[int, int, int]]()

    def send() -> None:
        """Puts one more word of the other end on the wire, or harms it: the first control word has none before it."""
        nonlocal state, harmed
        control = rng.random() < 0.35
        if control:
            word = rng.getrandbits(CRC_BITS)
            state = crc_state(state, word, width - CRC_BITS)
            word |= (state ^ ONES) << width - CRC_BITS
        else:
            word = rng.getrandbits(width)
            state = crc_state(state, word, width)
        fault = rng.choice(("lost", "doubled", "flipped")) if rng.random() < 0.06 else ""
        counts[fault] += 1
        if fault == "lost":
            harmed = True
            return
        flipped = rng.choice((0, width - 1, rng.randrange(width)))
        shown = word ^ (1 << flipped) if fault == "flipped" else word
        queue.append((control, shown, control and not harmed and fault != "flipped"))
        if control:
            # The next one goes on from this one's CRC, as it came.
            harmed = fault == "flipped" and flipped >= width - CRC_BITS
        else:
            harmed |= fault == "flipped"
        if fault == "doubled":
            queue.append((control, shown, 0))
            harmed |= not control

    class Wire:
        def drive(self, context) -> None:
            nonlocal seen
            self.before, valid = seen, rng.random() < 0.7
            while valid and not queue:
                send()
            control, shown, good = queue.pop(0) if valid else (rng.getrandbits(1), rng.getrandbits(width), 0)
            context.set(part.i.valid, valid)
            context.set(part.i.control, control)
            context.set(part.i.data, shown)
            seen = (valid, control, shown, good)

        def settle(self, read) -> None:
            valid, control, shown, good = self.before
            assert (read(part.o.valid), read(part.good)) == (valid, good)
            if valid:
                assert (read(part.o.control), read(part.o.data)) == (control, shown)
                assert read(part.o.fields.as_value()) == shown & ONES
            counts["good"] += good
            counts["bad"] += valid and control and not good

    run(part, [Wire()], cycles=500, rng=rng)
    assert counts["good"] > 50
    assert min(counts[fault] for fault in ("lost", "doubled", "flipped", "bad")) > 1


def test_planted_insert(monkeypatch: pytest.MonkeyPatch) -> None:
    """A control word that moves the register as far as a data word is found."""
    monkeypatch.setattr("rtl.link.frame_crc.state_terms", lambda bits: state_terms(64))
    with pytest.raises(AssertionError):
        test_insert(64, 1)


def test_planted_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that does not look at the highest bit of a data word finds faults where there are none."""
    monkeypatch.setattr(
        "rtl.link.frame_crc.data_terms", lambda bits: (*data_terms(bits)[:63], 0) if bits == 64 else data_terms(bits))
    with pytest.raises(AssertionError):
        test_check(64, 1)
