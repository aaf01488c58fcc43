"""The packet buffer around the trigger: where packets are, and what its look-ups find."""

from collections.abc import Callable
from random import Random
from typing import Any

from firmware_models.abi.encoding import Status
from rtl.buffer.layouts import Arrival
from testbench.cou.trigger_model import Packet, Pulse
from testbench.stream import StreamSource

SLOTS = 256
KEY = ("job_id", "node_id", "vp", "seq_id", "pulse", "fragment")
Key = tuple[int, ...]


class Buffer:
    """Packets that have come, in slots drawn at random; some come twice, and the second one is dropped.

    Parameters
    ----------
    rng : Random
        For slots, doubles and errors.
    later : callable
        Calls a function after a random number of cycles.
    writes : list
        Writes that the board makes, one a cycle.
    arrivals : StreamSource
        What the trigger hears of packets.
    spoils : bool
        Some look-ups end in an error.
    """

    def __init__(
        self, rng: Random, *, later: Callable[[Callable[[], None]], None], writes: list[tuple[str, Any, Any]],
        arrivals: StreamSource, spoils: bool,
    ):
        self.rng, self.spoils = rng, spoils
        self._later, self._writes, self._arrivals = later, writes, arrivals
        self.slots: dict[Key, int] = {}
        self.missed: set[Key] = set()
        self._empty = list(range(SLOTS))
        self._doubles: set[Key] = set()
        self._asked: set[Key] = set()

    def come(self, packet: Packet) -> None:
        """A packet comes: its header is stored, look-ups find it, and its arrival is reported."""
        slot = self._empty.pop(self.rng.randrange(len(self._empty)))
        self._writes.append(("header", slot, packet.header))
        double = self._empty.pop() if self.rng.random() < 0.2 else None

        def say(what: Arrival, where: int) -> None:
            self._arrivals.append({
                "key": dict(zip(KEY, packet.key, strict=True)), "slot": where, "what": what.value,
            })

        def comes() -> None:
            say(Arrival.COMING, slot)
            self._later(again if double is not None and self.rng.random() < 0.5 else arrives)

        def again() -> None:
            """One with the same key, which will be dropped."""
            say(Arrival.COMING, double)
            self._later(arrives)
            self._doubles.add(packet.key)

        def arrives() -> None:
            self.slots[packet.key] = slot
            say(Arrival.THERE, slot)
            if packet.key in self._doubles:
                self._later(lambda: say(Arrival.DROPPED, double))

        self._writes.append(("arrival", 0, comes))

    def look_up(self, key: dict[str, int], owner: Pulse) -> dict[str, int]:
        """The answer to a look-up for `owner`, which must ask for its next packet, and only once."""
        name = tuple(key[field] for field in KEY)
        hit, error = name in self.slots, 0
        if not owner.operation.expired:
            packet = owner.next_packet()
            assert packet is not None
            assert packet.key == name, f"packet {name} is not the next one"
            assert not owner.running
            assert not owner.wants_operand()
            assert name not in self._asked
            self._asked.add(name)
            if not hit:
                self.missed.add(name)
            # Once an operation is being given up nobody knows whether this is a search.
            elif not owner.operation.doomed and self.spoils and self.rng.random() < 0.05:
                error = 1
                owner.operation.expected.append((int(Status.BUFFER_ERROR), 0))
                owner.blamed = True
        return {"hit": int(hit), "error": error, "slot": self.slots[name] if hit else self.rng.randrange(SLOTS)}

    def free(self, key: Key) -> None:
        """The packet's slot is free again."""
        self._empty.append(self.slots.pop(key))
