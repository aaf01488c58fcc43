# amaranth: UnusedElaboratable=no
"""A memory of bytes: reads and writes at any address, beside a list of bytes."""

import random
from collections import Counter

import pytest

from rtl.cou.byte_memory import ByteMemory
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs
from testbench.parts.simulation import run

SIZES = ((64, 16), (64, 64), (128, 64))
"""Bits of a beat, and bytes: two beats at least."""


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


@pytest.mark.parametrize(("width", "n_bytes"), SIZES)
def test_bytes(rng: random.Random, width: int, n_bytes: int) -> None:
    """Each byte is the last one that was written two cycles before, but for beats that are being written."""
    part, flit = ByteMemory(data_width=width, n_bytes=n_bytes), width // 8
    content: list[int | None] = [None] * n_bytes
    on_way: list[dict[int, int]] = [{}, {}]
    output: list[int | None] = [None] * flit
    register = list(output)
    counts: Counter[object] = Counter()
    now: dict[str, int] = {}

    def drive(put) -> None:
        near = rng.randrange(n_bytes)
        first = rng.randrange(flit)
        now.update(
            write_enable=rng.random() < 0.6, write_address=near, write_data=rng.getrandbits(width), write_first=first,
            write_count=rng.choice((0, 1, flit - first, rng.randint(0, flit - first))), read_enable=rng.random() < 0.6,
            read_address=rng.choice((near, rng.randrange(n_bytes))), read_advance=rng.random() < 0.7,
        )
        for name, value in now.items():
            put(getattr(part, name), value)

    def settle(read) -> None:
        nonlocal output, register, on_way
        found = read(part.read_data).to_bytes(flit, "little")
        for byte, wanted in zip(found, register, strict=True):
            assert wanted in (None, byte)
            counts["known"] += wanted is not None
        if now["read_advance"]:
            register = list(output)
        due = on_way.pop(0)
        if now["read_enable"]:
            # A beat that is being written may be old, new or neither.
            spoilt = {address // flit for address in due}
            output = []
            for address in ((now["read_address"] + byte) % n_bytes for byte in range(flit)):
                output.append(None if address // flit in spoilt else content[address])
            counts["unaligned"] += now["read_address"] % flit != 0
            counts["wraps"] += now["read_address"] > n_bytes - flit
        for address, byte in due.items():
            content[address] = byte
        written = now["write_data"].to_bytes(flit, "little")[now["write_first"]:][:now["write_count"]]
        on_way.append({
            (now["write_address"] + place) % n_bytes: byte for place, byte in enumerate(written)
        } if now["write_enable"] else {})

    run(part, [Inputs(drive, settle)], cycles=900 if width == 64 else 500, rng=rng)
    assert counts["known"] > 1500
    assert counts["unaligned"] > 100
    assert counts["wraps"] > 10


@pytest.mark.parametrize("n_bytes", [8, 24])
def test_sizes(n_bytes: int) -> None:
    with pytest.raises(ValueError, match="n_bytes must be a power of two, at least 16"):
        ByteMemory(data_width=64, n_bytes=n_bytes)


FAULTS = {
    "the first lane comes from the beat behind": ("odd ^ (byte < at)", "odd ^ (byte <= at)"),
    "a write without enable": ("with m.If(~self.write_enable):", "with m.If(0):"),
    "the beat behind is not found in the even memory": ("(beat + (1 - parity))[1: len(beat)]", "beat[1:]"),
    "a full beat is one byte short": ("Const((1 << count) - 1,", "Const((1 << min(count, 7)) - 1,"),
    "the register follows the memory": ("with m.If(self.read_advance):", "with m.If(1):"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ByteMemory", changed(ByteMemory, *FAULTS[fault]))
    with pytest.raises(AssertionError):
        test_bytes(random.Random(1), *SIZES[1])
