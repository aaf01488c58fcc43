"""A memory that corrects its errors, beside a list of words, with errors written into it and errors in its cells."""

import random
from collections import Counter

import pytest
from amaranth import Module, Signal

from rtl.buffer.guarded_memory import GuardedMemory
from rtl.kit.memory import BlockMemory
from testbench.parts.faults import changed
from testbench.parts.simulation import run


class NoisyMemory(BlockMemory):
    """A memory in which any bits of what is read can be inverted."""

    made: "NoisyMemory | None" = None

    def __init__(self, **parameters):
        super().__init__(**parameters)
        self.parameters = parameters
        self.noise = Signal(len(self.read_data))
        NoisyMemory.made = self

    def elaborate(self, platform):
        m = Module()
        m.submodules.cells = cells = BlockMemory(**self.parameters)
        for name in ("write_enable", "write_address", "write_data", "read_enable", "read_address"):
            m.d.comb += getattr(cells, name).eq(getattr(self, name))
        m.d.comb += self.read_data.eq(cells.read_data ^ self.noise)
        return m


def check_bits(data_bits: int) -> int:
    """Check bits of an odd-weight-column code: half of all columns are odd, and each check bit has one of its own."""
    return next(n for n in range(3, 20) if (1 << n - 1) - n >= data_bits)


class Ports:
    """Random writes and reads, often of one word at once, and errors."""

    def __init__(self, part: GuardedMemory, rng: random.Random, *, noisy: bool):
        self.part, self.rng, self.noisy = part, rng, noisy
        parts = [min(64, part.width - at) for at in range(0, part.width, 64)] if part.ecc else []
        self.code_bits = [bits + check_bits(bits) for bits in parts]
        self.words = [(0, 0)] * part.depth
        self.shown: tuple[int, int] | None = None
        self.write: tuple[int, tuple[int, int]] | None = None
        self.read: int | None = None
        self.errors: list[list[int]] = []
        self.counts: Counter[str] = Counter()

    def drive(self, context) -> None:
        part, rng = self.part, self.rng
        address, flips = rng.randrange(part.depth), 0
        if part.ecc and not self.noisy:
            flips = rng.choice((0, 0, 1, 2))
            context.set(part.flip, rng.choice((2, 3)) if flips == 2 else flips)
            context.set(part.flip_bit, rng.randrange(self.code_bits[0] - (flips == 2)))
        word = rng.getrandbits(part.width)
        self.write = (address, (word, flips)) if rng.random() < 0.5 else None
        self.read = rng.choice((address, rng.randrange(part.depth))) if rng.random() < 0.7 else None
        context.set(part.write_enable, self.write is not None)
        context.set(part.write_address, address)
        context.set(part.write_data, word)
        context.set(part.read_enable, self.read is not None)
        context.set(part.read_address, rng.randrange(part.depth) if self.read is None else self.read)
        self.errors = [[0] * part.copies for _ in self.code_bits]
        if self.noisy:
            self.make_noise(context)

    def make_noise(self, context) -> None:
        """Inverts up to two bits of each part of each copy, in most cycles those of few parts."""
        noise, at, rate = 0, 0, self.rng.choice((0.1, 0.5))
        for copy in range(self.part.copies):
            for number, bits in enumerate(self.code_bits):
                n_errors = self.rng.choice((1, 2)) if self.rng.random() < rate else 0
                self.errors[number][copy] = n_errors
                noise |= sum(1 << at + bit for bit in self.rng.sample(range(bits), n_errors))
                at += bits
        context.set(NoisyMemory.made.noise, noise)

    def settle(self, read) -> None:
        part = self.part
        if self.shown is not None:
            word, flips = self.shown
            if self.errors and not self.noisy:
                self.errors[0][0] = flips
            self.compare(word, read)
        if self.read is not None:
            collides = self.write is not None and self.write[0] == self.read
            self.counts["collisions"] += collides
            if not collides:
                self.shown = self.words[self.read]
            elif part.careless:
                self.shown = None
        if self.write is not None:
            self.words[self.write[0]] = self.write[1]

    def compare(self, word: int, read) -> None:
        """Compares what is shown: right where any copy has less than two errors."""
        found, part = read(self.part.read_data), self.part
        lost = [min(errors) == 2 for errors in self.errors]
        mended = [max(errors) > 0 and not gone for errors, gone in zip(self.errors, lost, strict=True)]
        for number in range(-(-part.width // 64)):
            if not (lost and lost[number]):
                assert (found ^ word) >> 64 * number & (1 << 64) - 1 == 0, f"part {number}"
        assert read(part.uncorrectable) == any(lost)
        assert read(part.corrected) == any(mended) or (part.copies == 2 and any(lost))
        self.counts.update(lost=any(lost), mended=any(mended), compared=1)


@pytest.mark.parametrize(("seed", "noisy", "width", "depth", "ecc", "copies", "careless"), [
    (0, False, 5, 3, False, 2, False), (1, False, 1, 1, True, 1, True), (0, True, 64, 4, True, 1, False),
    (0, False, 65, 6, True, 2, False), (0, True, 65, 6, True, 2, False), (1, True, 65, 6, True, 2, False),
])
def test_guarded_memory(
    seed: int, noisy: bool, width: int, depth: int, ecc: bool, copies: int, careless: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Words come back as they were written but for double errors, which are shown; a collision changes nothing."""
    if noisy:
        monkeypatch.setattr("rtl.buffer.guarded_memory.BlockMemory", NoisyMemory)
    part = GuardedMemory(width=width, depth=depth, ecc=ecc, copies=copies, careless=careless)
    ports = Ports(part, random.Random(seed), noisy=noisy)
    run(part, [ports], cycles=350, rng=ports.rng)
    assert ports.counts["compared"] > 80
    assert ports.counts["collisions"] > 20
    assert (ports.counts["mended"] > 15) is ecc
    # A double error of one copy is put right by the other one.
    assert (ports.counts["lost"] > 8) is (ecc and (copies == 1 or noisy))


@pytest.mark.parametrize(("old", "new", "noisy", "copies"), [
    ("Mux(double, second, fixed)", "fixed", False, 2),
    ("lost.append(double & second_double)", "lost.append(double)", False, 2),
    ("single | second_single | double | second_double", "single | double | second_double", True, 2),
    ("careless=self.careless", "careless=True", False, 1),
    ("self.corrected.eq(Cat(*corrected).any())", "self.corrected.eq(corrected[0])", True, 2),
])
def test_planted(
    old: str, new: str, noisy: bool, copies: int, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A copy that is not used, or not looked at, a collision, and a second part that reports nothing are found."""
    part = changed(GuardedMemory, old, new)
    monkeypatch.setitem(globals(), "GuardedMemory", part)
    if noisy:
        # The changed module has names of its own.
        monkeypatch.setitem(part.elaborate.__globals__, "BlockMemory", NoisyMemory)
    with pytest.raises(AssertionError):
        test_guarded_memory(0, noisy, 65, 6, True, copies, False, monkeypatch)
