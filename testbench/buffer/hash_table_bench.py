"""Inserts, removes and looks up at once in a tag table of either kind, against a dictionary, cycle by cycle."""

from collections import Counter
from dataclasses import dataclass

import cocotb
from amaranth.lib import data
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from rtl.abi import HashKey
from rtl.buffer.tag_table import answer_layout
from testbench.buffer.hash_keys import colliding_keys, random_keys, structured_keys
from testbench.clock import cycles, start
from testbench.codec import decoder
from testbench.runner import parameters, report, rng
from testbench.stream import StreamSink, StreamSource

_key_mask = (1 << formats.HASH_KEY.width) - 1


@dataclass
class Asked:
    """A look-up on its way, and the answers that are right: slots, -1 for a miss."""

    key: int
    cycle: int
    allowed: set[int]


class Model:
    """A dictionary from key to slot, fed by what is transferred on the ports.

    Insertions and removals take effect in the order in which they were taken. A look-up may say either of a key whose
    insertion is not `done`, or that changes while the look-up is under way.
    """

    def __init__(self, dut, slot_bits: int):
        self.dut = dut
        self.slots: dict[int, int] = {}
        self.free_slots = set(range(1 << slot_bits))
        self.inserting: list[tuple[int, int, bool]] = []
        self.removing: list[int] = []
        self.asked: list[Asked] = []
        self.counts: Counter[str] = Counter()
        self.lookup_cycles: list[int] = []
        self.steps: list[int] = []
        self.most_stashed = 0
        self.cycle = 0
        self._answer = decoder(answer_layout(slot_bits))
        cocotb.start_soon(self._follow())

    def _allow(self, key: int, slot: int) -> None:
        for asked in self.asked:
            if asked.key == key:
                asked.allowed.add(slot)

    async def _follow(self) -> None:
        dut = self.dut
        edge = RisingEdge(dut.clk)

        def moves(name: str) -> bool:
            return bool(int(getattr(dut, f"{name}__valid").value) and int(getattr(dut, f"{name}__ready").value))

        while True:
            await edge
            self.cycle += 1
            if int(dut.rst.value):
                continue
            if moves("o_lookup"):
                self._on_answer(self._answer(int(dut.o_lookup__payload.value)))
            if int(dut.done.value):
                self._on_done(bool(int(dut.duplicate.value)), int(dut.done_slot.value))
            if int(dut.figures__settled.value):
                self.steps.append(int(dut.figures__steps.value))
            if int(dut.removed.value):
                assert self.removing, "a slot came back that was not due"
                assert int(dut.removed_slot.value) == self.removing[0], "a wrong slot came back"
                self.free_slots.add(self.removing.pop(0))
            self.most_stashed = max(self.most_stashed, int(dut.figures__stash_level.value))
            if moves("lookup"):
                self._on_lookup(int(dut.lookup__payload.value))
            if moves("insert"):
                self._on_insert(int(dut.insert__payload.value))
            if moves("remove"):
                self._on_remove(int(dut.remove__payload.value))

    def _on_lookup(self, key: int) -> None:
        allowed = {self.slots.get(key, -1)}
        if any(key == other and not twice for other, _, twice in self.inserting):
            allowed.add(-1)
        self.asked.append(Asked(key, self.cycle, allowed))

    def _on_answer(self, answer: dict[str, int]) -> None:
        asked = self.asked.pop(0)
        self.lookup_cycles.append(self.cycle - asked.cycle)
        got = answer["slot"] if answer["hit"] else -1
        assert got in asked.allowed, f"key {asked.key:#x}: slot {got}, not one of {asked.allowed} (-1: miss)"
        assert not answer["error"]
        self.counts["hits" if answer["hit"] else "misses"] += 1

    def _on_insert(self, tag: int) -> None:
        key, slot = tag & _key_mask, tag >> formats.HASH_KEY.width
        self.inserting.append((key, slot, key in self.slots))
        if key not in self.slots:
            self.slots[key] = slot
            self._allow(key, slot)

    def _on_done(self, duplicate: bool, done_slot: int) -> None:
        assert self.inserting, "done without an insertion"
        key, slot, expected = self.inserting.pop(0)
        assert duplicate == expected, f"key {key:#x}: duplicate was {duplicate}"
        assert done_slot == slot
        if duplicate:
            self.free_slots.add(slot)
            self.counts["duplicates"] += 1
        else:
            self.counts["inserted"] += 1

    def _on_remove(self, tag: int) -> None:
        key, slot = tag & _key_mask, tag >> formats.HASH_KEY.width
        if self.slots.get(key) == slot:
            self._allow(key, -1)
            self.removing.append(self.slots.pop(key))
            self.counts["removed"] += 1
        else:
            self.counts["unknown"] += 1


class Bench:
    """The table, its drivers and its model."""

    def __init__(self, dut, *, idle: float | None, stall: float | None):
        self.dut = dut
        self.n_entries, self.slot_bits = parameters()["n_entries"], parameters()["slot_bits"]
        self.numbers = rng("bench")
        tag = data.StructLayout({"key": HashKey, "slot": self.slot_bits})
        self.insert = StreamSource(dut, "insert", tag, idle=idle)
        self.remove = StreamSource(dut, "remove", tag, idle=idle)
        self.lookup = StreamSource(dut, "lookup", HashKey, idle=idle)
        self.answers = StreamSink(dut, "o_lookup", answer_layout(self.slot_bits), stall=stall)
        self.model = Model(dut, self.slot_bits)

    async def idle(self) -> None:
        """Waits until nothing is on its way."""
        for source in (self.insert, self.remove, self.lookup):
            await source.drain()
        await cycles(self.dut, 3 * self.n_entries)
        while self.model.asked:
            await RisingEdge(self.dut.clk)
        assert not self.model.inserting
        assert not self.model.removing, "a slot did not come back"

    async def churn(self, keys, *, most: int, operations: int) -> None:
        """Random operations on all ports, the table kept near `most` keys."""
        numbers, model = self.numbers, self.model
        known: list[int] = []
        begun = sum(model.counts.values())
        # A port gets its next operation only when none is `pending`, so that choices follow the state of the model.
        while sum(model.counts.values()) - begun < operations:
            await RisingEdge(self.dut.clk)
            if not self.insert.pending:
                here = len(model.slots) + len(model.removing)
                if model.slots and numbers.random() < 0.05:
                    key = numbers.choice(list(model.slots))
                elif here < most:
                    # A key that was there before comes again now and then.
                    key = numbers.choice(known) if known and numbers.random() < 0.3 else next(keys)
                else:
                    key = None
                if key is not None and model.free_slots:
                    slot = numbers.choice(sorted(model.free_slots))
                    model.free_slots.discard(slot)
                    self.insert.append({"key": key, "slot": slot})
                    known = [*known[-2 * self.n_entries:], key]
            unfinished = {key for key, _, _ in model.inserting}
            crowded = self.insert.pending or len(model.slots) >= most
            if not self.remove.pending and known and numbers.random() < (0.5 if crowded else 0.02):
                key = numbers.choice(list(model.slots) or known) if numbers.random() < 0.95 else next(keys)
                slot = model.slots.get(key, 0)
                if numbers.random() < 0.03:
                    slot ^= 1 << numbers.randrange(self.slot_bits)
                if key not in unfinished:
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
            assert self.model.steps[before:] == [1], "an empty table must take a key at once"
            self.remove.append({"key": key, "slot": 0})
            await self.idle()


async def _run(dut, name: str, keys, *, load: float, share: float, idle: float | None) -> None:
    bench = Bench(dut, idle=idle, stall=idle)
    await start(dut, max_cycles=5_000_000)
    dut.test__flip.value = 0
    most = min(parameters()["most"], int(load * bench.n_entries))
    await bench.churn(keys, most=most, operations=int(share * parameters()["operations"]))
    await bench.check_all()
    steps, model = bench.model.steps, bench.model
    if parameters()["mode"] == "cuckoo" and idle == 0:
        assert set(model.lookup_cycles) == {4}, "look-ups take 4 cycles, always"
    report(**{name: {
        **model.counts, "lookup_cycles": [min(model.lookup_cycles), max(model.lookup_cycles)],
        "steps": [round(sum(steps) / len(steps), 2), max(steps)], "stash": model.most_stashed,
    }})


@cocotb.test()
@cocotb.parametrize(load=(0.5, 0.75, 0.9, 0.95, 0.98), idle=(0, None))
async def random(dut, load: float, idle: float | None) -> None:
    """Random keys."""
    await _run(dut, f"random at {load}, idle {idle}", random_keys(rng("keys")), load=load, share=0.06, idle=idle)


@cocotb.test()
@cocotb.parametrize(load=(0.75, 0.95, 0.98))
async def structured(dut, load: float) -> None:
    """Consecutive SeqIDs and pulses."""
    await _run(dut, f"structured at {load}", structured_keys(), load=load, share=0.08, idle=0)


@cocotb.test()
async def colliding(dut) -> None:
    """Keys that share all their ways: the table takes as many as it can, the others wait until there is room."""
    most = min(parameters()["most"], parameters()["colliding"])
    keys = colliding_keys(parameters()["index_bits"], parameters()["banks"], rng("keys"))
    load = (most + 0.5) / parameters()["n_entries"]
    await _run(dut, "colliding", keys, load=load, share=0.1, idle=0)


@cocotb.test()
async def rate(dut) -> None:
    """Cycles a packet, insertion, look-up and removal each, with 95% of the entries in use all the time."""
    bench = Bench(dut, idle=0, stall=0)
    await start(dut, max_cycles=100_000)
    dut.test__flip.value = 0
    model, n_packets = bench.model, 600
    keys = random_keys(rng("keys"))
    most = min(parameters()["most"], int(0.95 * bench.n_entries))
    inserted, removed = [], 0
    begun = 0
    while removed < n_packets:
        await RisingEdge(dut.clk)
        here = len(model.slots) + bench.insert.pending
        if here < most + 1 and not bench.insert.pending:
            key = next(keys)
            slot = model.free_slots.pop()
            bench.insert.append({"key": key, "slot": slot})
            inserted.append((key, slot))
        # The oldest key is removed once the table holds `most` keys.
        if len(model.slots) >= most and not bench.remove.pending:
            begun = begun or model.cycle
            key, slot = inserted[removed]
            bench.remove.append({"key": key, "slot": slot})
            removed += 1
        if not bench.lookup.pending:
            bench.lookup.append(bench.numbers.choice(inserted)[0])
    report(cycles_a_packet=round((model.cycle - begun) / n_packets, 2), rate_stash=model.most_stashed)
    await bench.idle()
