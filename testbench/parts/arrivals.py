"""Packets that come into a packet buffer, as those see it who wait for them: events, and look-ups that are answered."""

import random
from collections import Counter, deque
from dataclasses import dataclass

from rtl.buffer.layouts import Arrival


@dataclass
class Packet:
    """A packet on its way into the table: in this cycle it will be there, or be dropped."""

    key: int
    slot: int
    due: int


class Arrivals:
    """A table of packets by key. An event at most comes in a cycle; a look-up that is taken in the cycle of an event
    THERE or later finds the packet.

    Parameters
    ----------
    rng : Random
        For times and slots.
    n_slots : int
        Slots of the buffer.
    """

    def __init__(self, rng: random.Random, n_slots: int):
        self.rng = rng
        self.table: dict[int, int] = {}
        self.free = set(range(n_slots))
        self.on_way: list[Packet] = []
        self.wanted: list[int] = []
        """Keys of packets that are to come, some of them twice."""
        self.lookups: deque[tuple[int, int, int]] = deque()
        """Look-ups that are still to be taken: cycle, who asks, key."""
        self.answers: deque[tuple[int, int, int | None]] = deque()
        """Answers on their way: cycle, who asked, slot."""
        self.counts: Counter[str] = Counter()

    def expect(self, key: int) -> None:
        """A packet with this key is to come, or two of them."""
        self.wanted += [key] * self.rng.choice((1, 2))
        self.rng.shuffle(self.wanted)

    def ask(self, cycle: int, who: int, key: int) -> None:
        """Offers a look-up, which is taken in this cycle or a later one. A packet that is there may come once more."""
        if key in self.table and self.rng.random() < 0.5:
            self.wanted.append(key)
        last = self.lookups[-1][0] if self.lookups else cycle
        self.lookups.append((max(last, cycle) + self.rng.randint(0, 2), who, key))

    def event(self, cycle: int) -> tuple[int, int, Arrival] | None:
        """Key, slot and kind of this cycle's event, if there is one."""
        due = [packet for packet in self.on_way if packet.due <= cycle]
        if due:
            packet = due[0]
            self.on_way.remove(packet)
            if packet.key in self.table:
                self.free.add(packet.slot)
                self.counts["dropped"] += 1
                return packet.key, packet.slot, Arrival.DROPPED
            self.table[packet.key] = packet.slot
            return packet.key, packet.slot, Arrival.THERE
        if self.wanted and self.rng.random() < (0.7 if self.wanted[-1] in self.table else 0.12):
            key, slot = self.wanted.pop(), self.rng.choice(sorted(self.free))
            self.free.discard(slot)
            self.on_way.append(Packet(key, slot, cycle + self.rng.choice((2, 3, 6, 12))))
            return key, slot, Arrival.COMING
        return None

    def answer(self, cycle: int) -> tuple[int, int | None] | None:
        """Asker that is answered in this cycle, and the slot; to be called after this cycle's event."""
        while self.lookups and self.lookups[0][0] <= cycle:
            _, who, key = self.lookups.popleft()
            self.counts["hits" if key in self.table else "misses"] += 1
            last = self.answers[-1][0] if self.answers else 0
            self.answers.append((max(last, cycle) + self.rng.choice((1, 1, 2, 9)), who, self.table.get(key)))
        if self.answers and self.answers[0][0] <= cycle:
            return self.answers.popleft()[1:]
        return None

    def coming(self, key: int) -> set[int]:
        """Slots of packets with this key that are announced."""
        return {packet.slot for packet in self.on_way if packet.key == key}

    def consume(self, key: int) -> bool:
        """Frees a packet; not as long as one with its key is to come or on its way."""
        if key in self.wanted or self.coming(key):
            return False
        if key in self.table:
            self.free.add(self.table.pop(key))
        return True
