"""Descriptors out of a ring in memory, beside what the memory holds, with a reader that is slow, fails, or waits."""

import random
from collections import Counter

import pytest

from firmware_models.abi import formats
from rtl.abi import DescriptorControl
from rtl.queue.descriptor_fetch import DescriptorFetch, FetchedDescriptor, fetch_command
from testbench.parts.faults import changed
from testbench.parts.pace import Pace
from testbench.parts.simulation import Offers, Takes, fields, run

BYTES = formats.DESCRIPTOR.bytes
NUMBER_BYTES = 32
"""Bytes of the control words: everything before the addresses."""


def contents(addr: int) -> int:
    """A descriptor in memory: any bits, the same ones for the same address."""
    return random.Random(addr).getrandbits(8 * BYTES)


class Memory:
    """Reads of whole descriptors, answered in order, beat by beat, some with an error."""

    def __init__(self, part: DescriptorFetch, rng: random.Random):
        self.part, self.rng = part, rng
        self.requests = Takes(part.read.request, rng)
        self.beats = Offers(part.read.data, rng, self.beat)
        self.n_beats = 8 * BYTES // part.data_width
        self.begun, self.at, self.failed = 0, 0, False
        self.outcomes: list[bool] = []
        self.beats.may = lambda: self.begun < len(self.requests.taken) or self.at > 0

    def beat(self) -> int:
        """The next beat; an error is known with the last one."""
        if self.at == 0:
            self.failed = self.rng.random() < 0.15
            self.begun += 1
        request = fields(self.part.read.request.payload.shape(), self.requests.taken[self.begun - 1])
        word = contents(request["addr"]) >> self.part.data_width * self.at & (1 << self.part.data_width) - 1
        self.at = (self.at + 1) % self.n_beats
        is_last = self.at == 0
        if is_last:
            self.outcomes.append(self.failed)
        shape = self.part.read.data.payload.shape()
        return int(shape.const({"data": word, "last": is_last, "error": is_last and self.failed}).as_bits())

    def drive(self, context) -> None:
        self.requests.drive(context)
        self.beats.drive(context)

    def settle(self, read) -> None:
        self.requests.settle(read)
        self.beats.settle(read)


class Scheduler(Takes):
    """Takes descriptors; is ready only when there is one, and lets none come now and then between two."""

    def __init__(self, part: DescriptorFetch, rng: random.Random):
        super().__init__(part.o, rng)
        self.part, self.enabled, self.between = part, True, True

    def drive(self, context) -> None:
        context.set(self.port.ready, bool(context.get(self.port.valid)) and self.rng.random() < self.rate)
        if self.between and self.rng.random() < 0.3:
            self.enabled = not self.enabled
        self.enabled |= not self.between
        context.set(self.part.enable, self.enabled)


@pytest.mark.parametrize(("seed", "data_width", "address_bits"), [
    (0, 64, 64), (0, 128, 40), (1, 128, 40), (1, 256, 64), (0, 512, 32),
])
def test_descriptor_fetch(seed: int, data_width: int, address_bits: int) -> None:
    """Requests follow a command at once; descriptors, flags and payload come when promised, in order, with errors."""
    rng = random.Random(seed)
    part = DescriptorFetch(data_width=data_width, address_bits=address_bits)
    command_shape = fetch_command(address_bits)

    def command() -> int:
        base = rng.choice((rng.getrandbits(address_bits), 1 << address_bits)) // BYTES * BYTES % (1 << address_bits)
        size = rng.choice((1, 2, 8, 1 << 15))
        index = rng.choice((rng.getrandbits(16), size - 1, (1 << 16) - 1))
        return int(command_shape.const({
            "base": base, "mask": size - 1, "index": index, "count": rng.choice((1, 1, 2, 3, 8)),
        }).as_bits())

    commands, memory, scheduler = Offers(part.i, rng, command), Memory(part, rng), Scheduler(part, rng)
    requests = memory.requests
    wanted: list[tuple[int, int]] = []
    inline: list[tuple[int, int]] = []
    state = {"cycle": 0, "request": False, "at": 0, "valid": False, "numbers": False, "fields": False}
    counts: Counter[str] = Counter()
    n_beats, n_words = memory.n_beats, memory.n_beats // 2

    def step(read) -> None:
        cycle = state["cycle"]
        assert read(part.read.request.valid) == state["request"], "a request late or without a command"
        if read(part.read.request.valid) and read(part.read.request.ready):
            counts["back_to_back"] += 1
        # Requests: a command is taken when none is on offer, the next address follows the one that is taken.
        left = len(wanted) - len(requests.taken) - (state["request"] and read(part.read.request.ready))
        assert read(part.i.ready) == (not state["request"])
        if commands.offered is not None and read(part.i.ready):
            one = fields(command_shape, commands.offered)
            for k in range(one["count"]):
                entry = (one["index"] + k) & one["mask"]
                wanted.append(((one["base"] + BYTES * entry) % (1 << address_bits), BYTES))
            left += one["count"]
            counts["commands"] += 1
            counts["wrapped"] += (one["index"] & one["mask"]) + one["count"] > one["mask"] + 1
        state["request"] = left > 0

        # Descriptors: one is there in the cycle after its last beat, its fields after the last one of theirs.
        for name in ("valid", "numbers", "fields"):
            signal = part.o.valid if name == "valid" else getattr(part, name)
            assert read(signal) == state[name], name
        if state["fields"]:
            shown = read(part.o.payload.desc.as_value())
            addr = wanted[len(scheduler.taken)][0]
            assert shown == contents(addr) & (1 << DescriptorControl.size) - 1, "fields that move"
        beat = memory.beats.offered is not None and read(part.read.data.ready)
        assert not (read(part.read.data.ready) and state["valid"])
        if memory.beats.offered is not None and scheduler.enabled and not state["valid"]:
            assert beat, "nothing but a descriptor on offer holds up the memory"
        is_last = beat and state["at"] == n_beats - 1
        assert read(part.words_read) == (is_last and not memory.outcomes[-1])

        # The payload follows two cycles after the descriptor, a word a cycle.
        shows = bool(inline) and inline[0][0] <= cycle
        assert read(part.inline_data.valid) == shows
        if shows:
            _, number = inline.pop(0)
            descriptor, index = divmod(number, n_words)
            word = contents(wanted[descriptor][0]) >> data_width * (n_words + index) & (1 << data_width) - 1
            assert read(part.inline_data.index) == index
            if not memory.outcomes[descriptor]:
                assert read(part.inline_data.data) == word
            counts["words"] += 1
        if state["valid"] and read(part.o.ready):
            number = len(scheduler.taken)
            inline.extend((cycle + 2 + k, n_words * number + k) for k in range(n_words))
            state.update(valid=False, numbers=False, fields=False)
        if beat:
            state["at"] = (state["at"] + 1) % n_beats
            came = n_beats if is_last else state["at"]
            state.update(
                valid=is_last, numbers=state["numbers"] or came * data_width >= 8 * NUMBER_BYTES,
                fields=state["fields"] or came >= n_words,
            )
        scheduler.between = state["at"] == 0 and not is_last
        state["cycle"] = cycle + 1

    pace = Pace(commands, requests, memory.beats, scheduler, rng=rng, cycles=30)
    run(part, [pace, scheduler, commands, memory], step=step, cycles=1500, rng=rng)
    found = [fields(FetchedDescriptor, item) for item in scheduler.taken]
    request_shape = part.read.request.payload.shape()
    assert [tuple(fields(request_shape, item)[name] for name in ("addr", "bytes")) for item in requests.taken] == (
        wanted[:len(requests.taken)])
    assert [one["error"] for one in found] == memory.outcomes[:len(found)]
    assert len(memory.outcomes) - len(found) in (0, 1)
    assert len(found) > 20
    assert sum(memory.outcomes) > 2
    assert min(counts["commands"], counts["wrapped"], counts["words"], counts["back_to_back"]) > 8


@pytest.mark.parametrize(("old", "new"), [
    ("command.index & command.mask, coming.index & coming.mask", "command.index, coming.index & coming.mask"),
    ("command.count != 2, coming.count != 1", "command.count != 1, coming.count != 1"),
    ("beat.ready.eq(~self.o.valid & self.enable)", "beat.ready.eq(self.enable)"),
    ("beat.payload.last & ~beat.payload.error)", "beat.payload.last)"),
    ("with m.If(beat.ready & expected[k]):", "with m.If(expected[k]):"),
    ("self.numbers.eq(0), self.fields.eq(0)", "self.fields.eq(0)"),
    ("(sends & (at != n_words - 1))", "(sends & (at != n_words - 2))"),
])
def test_planted(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address beyond the ring, a request too many, a beat too early, and flags that stay are found."""
    monkeypatch.setitem(globals(), "DescriptorFetch", changed(DescriptorFetch, old, new))
    with pytest.raises(AssertionError):
        test_descriptor_fetch(0, 128, 40)
