"""Inserts, removes and looks up at once in a hash table, up to one empty entry, against a dictionary.

The model follows the ports cycle by cycle. While a key is being inserted or removed a look-up of it may say either; in
every other case there is one right answer.
"""

from collections import Counter
from dataclasses import dataclass

import cocotb
from amaranth.lib import data
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from rtl.abi import HashKey
from testbench.clock import cycles, start
from testbench.codec import decoder
from testbench.cou.hash_keys import colliding_keys, random_keys, structured_keys
from testbench.runner import parameters, report, rng
from testbench.stream import StreamSink, StreamSource

_key_mask = (1 << formats.HASH_KEY.width) - 1


@dataclass
class Asked:
    """A look-up on its way."""

    key: int
    cycle: int
    expected: int | None
    """The slot; -1 for a miss; None if either is right."""


class Model:
    """A dictionary from key to slot, fed by what is transferred on the ports."""

    def __init__(self, dut, slot_bits: int):
        self.dut = dut
        self.slots: dict[int, int] = {}
        self.free_slots = set(range(1 << slot_bits))
        self.inserting: tuple[int, int, bool] | None = None
        self.removing: int | None = None
        self.asked: list[Asked] = []
        self.counts: Counter[str] = Counter()
        self.lookup_cycles: list[int] = []
        self.steps: list[int] = []
        self._cycle = 0
        self._answer = decoder(data.StructLayout({"hit": 1, "slot": slot_bits}))
        cocotb.start_soon(self._follow())

    def _change(self, key: int) -> None:
        """From now on, look-ups of `key` on their way may see what was or what will be."""
        for asked in self.asked:
            if asked.key == key:
                asked.expected = None

    async def _follow(self) -> None:
        dut = self.dut
        edge = RisingEdge(dut.clk)

        def moves(name: str) -> bool:
            return bool(int(getattr(dut, f"{name}__valid").value) and int(getattr(dut, f"{name}__ready").value))

        while True:
            await edge
            self._cycle += 1
            if int(dut.rst.value):
                continue
            if moves("o_lookup"):
                self._on_answer(self._answer(int(dut.o_lookup__payload.value)))
            if moves("lookup"):
                self._on_lookup(int(dut.lookup__payload.value))
            if int(dut.done.value):
                self._on_done(bool(int(dut.duplicate.value)), int(dut.steps.value))
            if int(dut.removed.value):
                assert int(dut.removed_slot.value) == self.removing, "a wrong slot came back, or one that was not due"
                self.free_slots.add(self.removing)
                self.removing = None
            if moves("insert"):
                self._on_insert(int(dut.insert__payload.value))
            if moves("remove"):
                self._on_remove(int(dut.remove__payload.value))

    def _on_lookup(self, key: int) -> None:
        in_flux = self.inserting is not None and self.inserting[0] == key
        self.asked.append(Asked(key, self._cycle, None if in_flux else self.slots.get(key, -1)))

    def _on_answer(self, answer: dict[str, int]) -> None:
        asked = self.asked.pop(0)
        self.lookup_cycles.append(self._cycle - asked.cycle)
        got = answer["slot"] if answer["hit"] else -1
        if asked.expected is not None:
            assert got == asked.expected, f"key {asked.key:#x}: slot {got}, not {asked.expected} (-1: miss)"
        self.counts["hits" if answer["hit"] else "misses"] += 1

    def _on_insert(self, tag: int) -> None:
        assert (self.inserting, self.removing) == (None, None), "taken while the one before was not done"
        key, slot = tag & _key_mask, tag >> formats.HASH_KEY.width
        self.inserting = key, slot, key in self.slots
        if key not in self.slots:
            self._change(key)

    def _on_done(self, duplicate: bool, steps: int) -> None:
        assert self.inserting is not None, "done without an insertion"
        key, slot, expected = self.inserting
        assert duplicate == expected, f"key {key:#x}: duplicate was {duplicate}"
        self.inserting = None
        self.steps.append(steps)
        if duplicate:
            self.free_slots.add(slot)
            self.counts["duplicates"] += 1
        else:
            self._change(key)
            self.slots[key] = slot
            self.counts["inserted"] += 1

    def _on_remove(self, tag: int) -> None:
        assert (self.inserting, self.removing) == (None, None), "taken while the one before was not done"
        key, slot = tag & _key_mask, tag >> formats.HASH_KEY.width
        if self.slots.get(key) == slot:
            self._change(key)
            self.removing = self.slots.pop(key)
            self.counts["removed"] += 1
        else:
            self.counts["unknown"] += 1


class Bench:
    """The table, its drivers and its model."""

    def __init__(self, dut, *, idle: float | None):
        self.dut = dut
        self.n_entries, self.slot_bits = parameters()["n_entries"], parameters()["slot_bits"]
        self.numbers = rng("bench")
        tag = data.StructLayout({"key": HashKey, "slot": self.slot_bits})
        self.insert = StreamSource(dut, "insert", tag, idle=idle)
        self.remove = StreamSource(dut, "remove", tag, idle=idle)
        self.lookup = StreamSource(dut, "lookup", HashKey, idle=idle)
        self.answers = StreamSink(dut, "o_lookup", data.StructLayout({"hit": 1, "slot": self.slot_bits}), stall=idle)
        self.model = Model(dut, self.slot_bits)

    async def idle(self) -> None:
        """Waits until nothing is on its way."""
        for source in (self.insert, self.remove, self.lookup):
            await source.drain()
        await cycles(self.dut, 3 * self.n_entries)
        while self.model.asked:
            await RisingEdge(self.dut.clk)
        assert self.model.inserting is None
        assert self.model.removing is None, "a slot did not come back"

    async def churn(self, keys, *, most: int, operations: int) -> None:
        """Random operations on all ports, the table kept near `most` keys."""
        numbers, model = self.numbers, self.model
        known: list[int] = []
        begun = sum(model.counts.values())
        while sum(model.counts.values()) - begun < operations:
            await RisingEdge(self.dut.clk)
            if not self.insert.pending and model.inserting is None:
                here = len(model.slots) + (model.removing is not None)
                if model.slots and numbers.random() < 0.05:
                    key = numbers.choice(list(model.slots))
                elif here < most:
                    # A key that was there before comes again now and then.
                    key = numbers.choice(known) if known and numbers.random() < 0.3 else next(keys)
                else:
                    key = None
                if key is not None:
                    slot = numbers.choice(sorted(model.free_slots))
                    model.free_slots.discard(slot)
                    self.insert.append({"key": key, "slot": slot})
                    known = [*known[-2 * self.n_entries:], key]
            if not self.remove.pending and known and numbers.random() < len(model.slots) / most:
                key = numbers.choice(list(model.slots) or known) if numbers.random() < 0.95 else next(keys)
                slot = model.slots.get(key, 0)
                if numbers.random() < 0.03:
                    slot ^= 1 << numbers.randrange(self.slot_bits)
                self.remove.append({"key": key, "slot": slot})
            if not self.lookup.pending and known:
                pool = list(model.slots) if model.slots and numbers.random() < 0.7 else known
                self.lookup.append(numbers.choice(pool))

    async def check_all(self) -> None:
        """Everything that is there is found; then it is removed, and the table is as good as new."""
        await self.idle()
        for key in self.model.slots:
            self.lookup.append(key)
        await self.idle()
        keys = list(self.model.slots)
        for key in keys:
            self.remove.append({"key": key, "slot": self.model.slots[key]})
        await self.idle()
        assert not self.model.slots
        for key in keys:
            before = len(self.model.steps)
            self.insert.append({"key": key, "slot": 0})
            await self.idle()
            assert self.model.steps[before:] == [1], "an empty table must take a key at its first entry"
            self.remove.append({"key": key, "slot": 0})
            await self.idle()


async def _run(dut, name: str, keys, *, load: float, share: float, idle: float | None) -> None:
    bench = Bench(dut, idle=idle)
    await start(dut, max_cycles=5_000_000)
    dut.hidden.value = 0
    most = min(bench.n_entries - 1, int(load * bench.n_entries))
    await bench.churn(keys, most=most, operations=int(share * parameters()["operations"]))
    await bench.check_all()
    steps, model = bench.model.steps, bench.model
    assert int(dut.max_steps.value) == max(steps)
    report(**{name: {
        **model.counts, "lookup_cycles": [min(model.lookup_cycles), max(model.lookup_cycles)],
        "steps": [round(sum(steps) / len(steps), 2), max(steps)],
    }})


@cocotb.test()
@cocotb.parametrize(load=(0.25, 0.5, 0.9, 1.0), idle=(0, None))
async def random(dut, load: float, idle: float | None) -> None:
    """Random keys, up to one empty entry."""
    await _run(dut, f"random at {load}, idle {idle}", random_keys(rng("keys")), load=load, share=0.08, idle=idle)


@cocotb.test()
async def structured(dut) -> None:
    """Consecutive SeqIDs and pulses."""
    await _run(dut, "structured", structured_keys(), load=0.5, share=0.16, idle=0)


@cocotb.test()
async def colliding(dut) -> None:
    """Keys that share one home, so that every removal moves entries under the look-ups."""
    n_entries = parameters()["n_entries"]
    keys = colliding_keys(n_entries, rng("keys"), home=n_entries - 3)
    await _run(dut, "colliding", keys, load=0.5, share=0.2, idle=0)
