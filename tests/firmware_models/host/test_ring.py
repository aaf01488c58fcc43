"""Rings without hardware: what fits, what would overwrite, what is there, at every boundary."""

import random

import pytest

from firmware_models.abi.formats import COMPLETION, DESCRIPTOR
from firmware_models.host import HostError
from firmware_models.host.ring import INDEXES, DescriptorRing, EventRing


class Bytes:
    """Host memory."""

    def __init__(self, n_bytes: int = 1 << 14):
        self.data = bytearray(n_bytes)

    def load(self, address: int, n_bytes: int) -> bytes:
        """Some bytes."""
        return bytes(self.data[address:address + n_bytes])

    def store(self, address: int, data: bytes) -> None:
        """Writes some."""
        assert address + len(data) <= len(self.data)
        self.data[address:address + len(data)] = data


def send(tag: int) -> bytes:
    """A point-to-point descriptor."""
    return DESCRIPTOR.pack(tag=tag)


def sequence(n_steps: int, *, tag: int = 0, ct: bool = True) -> bytes:
    """A collective one, from CH to CT."""
    return b"".join(
        DESCRIPTOR.pack(c=1, ch=int(step == 0), ct=int(ct and step == n_steps - 1), tag=tag) for step in range(n_steps)
    )


@pytest.mark.parametrize("first", [0, 1, INDEXES - 3])
def test_full_to_the_last_place(first: int) -> None:
    """As many as there are entries, and not one more; nothing is written then."""
    memory = Bytes()
    ring = DescriptorRing(memory, base=0x100, log2=3, first=first)
    for tag in range(8):
        assert ring.room == 8 - tag
        assert ring.put(send(tag)) == [0x100 + (first + tag) % 8 * 128]
    before = bytes(memory.data)
    with pytest.raises(HostError, match=r"^descriptor ring must have room for 1 more descriptors, not 0 of 8: wait"):
        ring.put(send(99))
    assert memory.data == before
    assert ring.publish() == (first + 8) % INDEXES


def test_one_completion_is_room_for_one_unit() -> None:
    ring = DescriptorRing(Bytes(), base=0, log2=3)
    ring.put(sequence(5) + send(1) + send(2))
    ring.publish()
    with pytest.raises(HostError, match=r"room for 2 more descriptors, not 1 of 8"):
        ring.put(send(3) + send(4))
    ring.put(send(3))
    ring.complete()
    assert ring.room == 5
    with pytest.raises(HostError, match=r"room for 6 more descriptors, not 5 of 8"):
        ring.put(sequence(6))
    ring.put(sequence(5))
    assert ring.room == 0
    ring.complete()
    assert ring.room == 1


def test_more_than_the_ring_holds() -> None:
    ring = DescriptorRing(Bytes(), base=0, log2=1, name="descriptor ring of VP 7")
    with pytest.raises(HostError, match=r"^descriptor ring of VP 7 must hold 3 entries, not 2$"):
        ring.put(sequence(3))


@pytest.mark.parametrize(("descriptors", "units"), [
    (send(1) + send(2), [1, 1]),
    (sequence(3) + sequence(1), [3, 1]),
    (sequence(3, ct=False) + send(1), [3, 1]),
    (sequence(3, ct=False) + sequence(2), [3, 2]),
    (sequence(4)[128:] + send(1), [3, 1]),
    (sequence(2, ct=False), [2]),
])
def test_units(descriptors: bytes, units: list[int]) -> None:
    """Groups of descriptors that end in one completion, also where CH or CT is missing."""
    ring = DescriptorRing(Bytes(), base=0, log2=4)
    ring.put(descriptors)
    ring.publish()
    for count in units:
        before = ring.room
        ring.complete()
        assert ring.room == before + count
    assert ring.room == 16
    ring.complete()
    assert ring.room == 16


def test_sequence_in_two_posts() -> None:
    """A unit is known to be fetched when all of it has been, though it was posted in parts."""
    ring = DescriptorRing(Bytes(), base=0, log2=2)
    ring.put(sequence(4)[:256])
    ring.complete()
    assert ring.room == 2
    ring.put(sequence(4)[256:])
    ring.publish()
    assert ring.room == 0
    ring.complete()
    assert ring.room == 4


def test_nothing_unfetched_is_overwritten() -> None:
    """Against a NIC that fetches in order and ends what it has fetched in any order."""
    numbers = random.Random(7)
    memory = Bytes()
    ring = DescriptorRing(memory, base=0, log2=4, first=INDEXES - 9)
    fetched, rung, tag, refused = ring.produced, ring.produced, 0, 0
    begun: list[int] = []
    waiting: list[tuple[int, int]] = []
    for _ in range(20_000):
        match numbers.randrange(3):
            case 0:
                tag += 1
                count = numbers.choice((1, 1, 2, 5, 9))
                try:
                    ring.put(send(tag) if count == 1 else sequence(count, tag=tag))
                    waiting.append((tag, count))
                except HostError:
                    refused += 1
                if numbers.random() < 0.5:
                    rung = ring.publish()
            case 1:
                if waiting and (rung - fetched) % INDEXES >= waiting[0][1]:
                    expected, count = waiting.pop(0)
                    for _ in range(count):
                        raw = memory.load(ring.address(fetched), 128)
                        assert DESCRIPTOR.unpack(raw)["tag"] == expected
                        fetched = (fetched + 1) % INDEXES
                    begun.append(expected)
            case _:
                if begun:
                    begun.remove(numbers.choice(begun))
                    ring.complete()
    assert refused > 1000
    assert tag > 5000


@pytest.mark.parametrize("log2", [0, 1, 3])
@pytest.mark.parametrize("first", [0, 5, INDEXES - 11])
def test_events_through_every_lap(log2: int, first: int) -> None:
    """Entries are seen when they are written, in order, once each, over the wrap of the indexes."""
    memory = Bytes()
    ring = EventRing(memory, base=0x400, log2=log2, entry=COMPLETION, first=first)
    memory.store(0x400, random.Random(1).randbytes(64 << log2))
    ring.clear()
    written = first
    for number in range(5 << log2):
        assert ring.peek() is None
        count = 1 + number % (1 << log2)
        for _ in range(count):
            memory.store(ring.address(written), COMPLETION.pack(
                tag=written, phase=(~(written % INDEXES) >> log2) & 1
            ))
            written += 1
        for tag in range(written - count, written):
            entry = ring.take()
            assert entry is not None
            assert entry["tag"] == tag
        assert ring.take() is None
        assert ring.consumed == written % INDEXES
