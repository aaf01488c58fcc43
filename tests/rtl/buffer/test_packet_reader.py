"""Payloads out of the packet buffer's memory, of packets that are there and of one that is still being written."""

import random
from collections import Counter

import pytest

from rtl.buffer.packet_reader import PacketReader
from testbench.parts.faults import changed
from testbench.parts.pace import Pace
from testbench.parts.simulation import Offers, Takes, fields, run

SLOT_BITS = 3


class Slots:
    """The memory of the slots, and a packet that is being written to one of them, beat by beat."""

    def __init__(self, part: PacketReader, rng: random.Random, *, flit: int, mtu: int):
        self.part, self.rng, self.flit, self.mtu = part, rng, flit, mtu
        self.lengths = [self.length() for _ in range(1 << SLOT_BITS)]
        self.beats = [[rng.getrandbits(8 * flit) for _ in range(mtu // flit)] for _ in range(1 << SLOT_BITS)]
        self.data, self.coming, self.beat, self.writes = 0, -1, 0, False
        self.in_use = lambda slot: False
        self.counts: Counter[str] = Counter()

    def length(self) -> int:
        """Bytes of a payload: often none, or about a multiple of a beat, or about the longest."""
        near = self.rng.choice((0, self.flit, self.mtu, self.rng.randrange(0, self.mtu + 1, self.flit)))
        return max(0, min(self.mtu, near + self.rng.choice((-1, 0, 0, 1))))

    def n_beats(self, slot: int) -> int:
        """Beats of the payload of a slot."""
        return -(-self.lengths[slot] // self.flit)

    def there(self, slot: int, beat: int) -> bool:
        """True if a beat can be read."""
        return slot != self.coming or beat < self.beat

    def drive(self, context) -> None:
        if self.coming < 0 and self.rng.random() < 0.2:
            slot = self.rng.randrange(1 << SLOT_BITS)
            length = self.length()
            if not self.in_use(slot):
                self.lengths[slot] = length
            if length and not self.in_use(slot):
                self.coming, self.beat = slot, 0
                self.counts["packets"] += 1
        self.writes = self.coming >= 0 and self.rng.random() < 0.4
        context.set(self.part.coming, self.coming >= 0)
        context.set(self.part.coming_slot, self.coming if self.coming >= 0 else self.rng.getrandbits(SLOT_BITS))
        context.set(self.part.coming_beat, self.beat if self.coming >= 0 else 0)
        context.set(self.part.read_data, self.data)

    def settle(self, read) -> None:
        if read(self.part.enable):
            slot, beat = divmod(read(self.part.address), self.mtu // self.flit)
            # A word that is being written, or has not been, comes out as anything.
            self.data = self.beats[slot][beat] if self.there(slot, beat) else self.rng.getrandbits(8 * self.flit)
        if self.writes:
            self.beats[self.coming][self.beat] = self.rng.getrandbits(8 * self.flit)
            self.beat += 1
            if self.beat == self.n_beats(self.coming):
                self.coming = -1


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("data_width", "mtu"), [(64, 64), (64, 256), (512, 64), (128, 32)])
def test_packet_reader(seed: int, data_width: int, mtu: int) -> None:
    """Every beat once and in order, a cycle after its request, without a gap, and never before it has come."""
    rng, flit = random.Random(seed), data_width // 8
    part = PacketReader(data_width=data_width, mtu=mtu, slot_bits=SLOT_BITS)
    slots = Slots(part, rng, flit=flit, mtu=mtu)
    request_shape = part.i.payload.shape()

    def request() -> int:
        slot = rng.choice((rng.randrange(1 << SLOT_BITS), max(0, slots.coming)))
        length = slots.lengths[slot] if rng.random() < 0.85 else 0
        return int(request_shape.const({"slot": slot, "length": length}).as_bits())

    requests, beats = Offers(part.i, rng, request), Takes(part.o, rng)
    # The request that was taken last, as far as its beats are not on offer yet.
    expected: list[tuple[int, int]] = []
    state = {"slot": 0, "next": 0, "left": 0, "due": False}
    counts = slots.counts
    slots.in_use = lambda slot: (
        (state["left"] > 0 and state["slot"] == slot)
        or (requests.offered is not None and fields(request_shape, requests.offered)["slot"] == slot)
    )

    def step(read) -> None:
        assert read(part.o.valid) == state["due"], "a beat is late, or came from nowhere"
        free = not read(part.o.valid) or read(part.o.ready)
        if not free:
            assert not read(part.i.ready)
            return
        state["due"] = False
        if state["left"]:
            assert not read(part.i.ready)
            if slots.there(state["slot"], state["next"]):
                note_beat()
            else:
                counts["waits"] += 1
        elif requests.offered is not None:
            asked = fields(request_shape, requests.offered)
            first_there = slots.there(asked["slot"], 0)
            assert read(part.i.ready) == first_there
            counts["waits"] += not first_there
            if first_there:
                counts["empty"] += asked["length"] == 0
                counts["short"] += asked["length"] % flit != 0
                counts["back_to_back"] += read(part.o.valid) and asked["length"] > 0
                state.update(slot=asked["slot"], next=0, left=-(-asked["length"] // flit))
                if state["left"]:
                    note_beat()

    def note_beat() -> None:
        expected.append((slots.beats[state["slot"]][state["next"]], int(state["left"] == 1)))
        state.update(next=state["next"] + 1, left=state["left"] - 1, due=True)

    run(part, [Pace(requests, beats, rng=rng), slots, requests, beats], step=step, cycles=2000, rng=rng)
    beat_shape = part.o.payload.shape()
    found = [(one["data"], one["last"]) for one in (fields(beat_shape, item) for item in beats.taken)]
    assert found == expected[:len(found)]
    assert len(expected) - len(found) <= 1
    assert len(found) > 150
    for name in ("packets", "waits", "empty", "short", "back_to_back"):
        assert counts[name] > 8, name


@pytest.mark.parametrize(("old", "new"), [
    ("(self.coming_beat != 0)", "(self.coming_beat != index[: self.beat_bits])"),
    ("self.coming_slot != slot", "self.coming_slot != self.i.payload.slot"),
    ("self.i.payload.length + ((1 << self.flit_log2) - 1)", "self.i.payload.length"),
    ("last.eq(rest == 1), index", "last.eq(rest == 2), index"),
    ("self.i.ready.eq(idle & free & begins)", "self.i.ready.eq(idle & free)"),
    ("with m.Elif(free):", "with m.Elif(~goes_on):"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A beat that is read too early, a short one left out, an end in the wrong place, and a lost request are found."""
    monkeypatch.setitem(globals(), "PacketReader", changed(PacketReader, old, new))
    with pytest.raises(AssertionError):
        test_packet_reader(0, 64, 256)
