"""The sequence store: who is let in, what becomes of each sequence, and what is kept of it meanwhile."""

import random
from collections import Counter
from typing import Any

import pytest

from firmware_models.abi.encoding import Datatype, Operand
from firmware_models.config import Config
from rtl.abi import DescriptorControl
from rtl.cou.sequence_store import SequenceStore
from rtl.cou.shapes import CouShapes
from rtl.interface import inline_words
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs, pack, pack_all
from testbench.parts.plans import differences, unpack
from testbench.parts.simulation import Takes, fields, run
from testbench.unit_config import UNIT

CONFIGS = {
    "narrow": UNIT.changed(cou={"n_jobs": 2, "n_contexts": 2, "sequence_depth": 4, "n_blocks": 2}),
    "wide": UNIT.changed(datapath={"data_width": 256}, cou={"n_jobs": 2, "sequence_depth": 8, "n_blocks": 16}),
}
ELEMENT_BYTES = {Datatype.DOUBLE_INT: 16, Datatype.FLOAT32: 4, Datatype.INT32: 4, Datatype.BYTE: 1}
JOB_IDS = (3, 4, 131, 255)


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


def operation_of(descs: list[dict[str, int]], base_pulse: int) -> dict[str, Any]:
    """The operation that a sequence is handed over as."""
    first, last = descs[0], descs[-1]
    n_blocks = first["block_count"]
    blocks: dict[str, int] = {"cut": n_blocks > 1, "count": max(1, n_blocks), "bytes": last["length"]}
    if n_blocks > 1:
        element = ELEMENT_BYTES.get(Datatype(first["datatype"]), 8)
        n = first["length"] // element
        size = -(-n // n_blocks)
        blocks |= {"bytes": size * element, "tail_bytes": n % size * element if size else 0}
        if size:
            blocks["n_full"] = n // size
    # A block that is read has to be written before, and not to lie in the operand memory of another descriptor.
    written, elsewhere, clear, lazy, consumed = set(), set(), False, True, 0
    for desc in descs:
        end = desc["slice_first"] + desc["slice_count"] if desc["slice_count"] else n_blocks
        blocks_of = set(range(desc["slice_first"] if desc["slice_count"] else 0, end))
        if n_blocks > 1 and desc["operand"] == Operand.INTERMEDIATE:
            clear |= not blocks_of <= written
            lazy &= not blocks_of & elsewhere
        written |= blocks_of
        merely_sent = (desc["operand"] in (Operand.PAYLOAD, Operand.MEMORY) and not desc["write_back"]
                       and desc["cp_count"] == consumed)
        elsewhere = elsewhere | blocks_of if merely_sent else elsewhere - blocks_of
        consumed = desc["cp_count"]
    wanted: dict[str, Any] = {
        "job_id": last["job_id"], "vp": last["source_vp"], "tag": first["tag"], "length": last["length"],
        "pulse_bytes": last["pulse_bytes"], "base_pulse": base_pulse, "n_descriptors": len(descs),
        "terms": first["terms"], "blocks": blocks,
    }
    if n_blocks > 1:
        wanted["lazy"], blocks["clear"] = lazy, clear
    return wanted


class Bench:
    """The scheduler, the operation table, and those who read descriptors and words."""

    def __init__(self, config: Config, rng: random.Random):
        self.config, self.rng, self.part = config, rng, SequenceStore(config)
        self.shapes, self.n_jobs = CouShapes(config), config.cou.n_jobs
        self.width, self.n_words = config.datapath.data_width, inline_words(config.datapath.data_width)
        self.probe: dict[str, int] | None = None
        self.answer_due = False
        self.descs: list[dict[str, int]] | None = None
        """Descriptors of the sequence that has been let in and has not been handed over whole."""
        self.abort = False
        self.at, self.word, self.next_at, self.first_at = 0, None, 0, 0
        self.words: list[list[int]] = []
        self.coming: list[int] = []
        self.shows, self.offers = False, False
        self.in_use: list[int] = []
        self.in_use_before: list[int] = []
        self.handed: list[dict[str, Any]] = []
        """Sequences that are to come out as operations."""
        self.stored: dict[int, dict[str, Any]] = {}
        """Those that have, by entry."""
        self.release: tuple[int, int] | None = None
        self.ends: list[list[int]] = [[], []]
        """Ends that are to be reported: of operations, and of those that have not begun."""
        self.cycle, self.offered_at, self.handed_at = 0, 0, -1
        self.latencies: list[int] = []
        """Cycles from a probe to its answer."""
        self.fetched: int | None = None
        self.asked: int | None = None
        self.counts: Counter[object] = Counter()

    def _sequence(self, job_id: int) -> list[dict[str, int]]:
        rng, most = self.rng, self.config.cou.n_blocks
        datatype = rng.choice(list(Datatype))
        n_blocks = rng.choice((0, 1, 2, most, most, rng.randint(1, most)))
        shared = {
            "job_id": job_id, "source_vp": rng.getrandbits(11), "block_count": n_blocks, "datatype": datatype.value,
            "length": ELEMENT_BYTES.get(datatype, 8) * rng.choice((0, 1, most - 1, most + 1, rng.randint(0, 200))),
            "pulse_bytes": 16 * rng.randint(1, 16),
        }
        descs, consumed = [], 0
        for _ in range(rng.choice((1, 2, 4, self.config.cou.sequence_depth))):
            consumed += rng.choice((0, 0, 0, 1))
            count = rng.randint(0, n_blocks)
            descs.append(unpack(DescriptorControl, rng.getrandbits(DescriptorControl.size)) | shared | {
                "cp_count": consumed, "slice_count": count,
                "operand": rng.choice((*Operand, Operand.INTERMEDIATE)).value,
                "slice_first": rng.randint(0, n_blocks - count) if count else 0, "write_back": int(rng.random() < 0.3),
            })
        return descs

    def drive(self, put) -> None:
        """All inputs of a cycle."""
        rng, port = self.rng, self.part.port
        # The next probe may come while descriptors of the sequence before it are on their way.
        if self.probe is None and not self.answer_due and rng.random() < (0.4 if self.descs is None else 0.1):
            self.probe = {"job_id": rng.choice(JOB_IDS), "base_pulse": rng.getrandbits(16)}
            self.offered_at = self.cycle
        put(port.probe.valid, self.probe is not None)
        if self.probe is not None:
            put(port.probe.payload.as_value(), pack(port.probe.payload.shape(), self.probe))
        self.shows = self.shows_now()
        put(port.descriptor.valid, self.shows)
        if self.shows:
            last = self.at + 1 == len(self.descs)
            put(port.descriptor.payload.as_value(), pack_all(port.descriptor.payload.shape(), {
                "desc": self.descs[self.at], "last": last, "abort": last and self.abort}))
        self._inline(put)
        ready = [job for job, entry in self.stored.items() if entry["through"] < self.cycle]
        if self.release is None and ready and rng.random() < 0.05:
            self.release = rng.choice(ready), rng.randint(1, 999)
        put(self.part.i_release.valid, self.release is not None)
        if self.release is not None:
            put(self.part.i_release.payload.job, self.release[0])
            put(self.part.i_release.payload.pulses, self.release[1])
        self._read(put, [job for job in ready if self.release is None or job != self.release[0]])

    def shows_now(self) -> bool:
        """True if a descriptor is on offer: it stays, and comes when the inline data of the one before are through."""
        if self.descs is None or self.answer_due or self.cycle < self.next_at:
            return False
        return self.shows or self.rng.random() < 0.6

    def _inline(self, put) -> None:
        """Words of inline data, from two cycles after their descriptor on, without a gap."""
        inline, index = self.part.inline_data, None
        if self.word is not None and self.cycle >= self.word:
            index = self.cycle - self.word
        put(inline.valid, index is not None)
        put(inline.index, index or 0)
        put(inline.data, self.coming[index] if index is not None else self.rng.getrandbits(self.width))
        if index == self.n_words - 1:
            self.word = None

    def _read(self, put, ready: list[int]) -> None:
        """A descriptor or a word of an operation in progress."""
        rng, view, words = self.rng, self.part.view, self.part.words
        self.wants = self.wants_word = None
        if ready:
            job = rng.choice(ready)
            position = rng.randrange(len(self.stored[job]["descs"]))
            place = {"position": position, "job": job}
            if rng.random() < 0.5:
                self.wants = pack_all(DescriptorControl, self.stored[job]["descs"][position])
                put(view.address.as_value(), pack(view.address.shape(), place))
            index = rng.randrange(self.n_words)
            put(words.address.as_value(), pack(words.address.shape(), {**place, "index": index}))
            self.wants_word = self.stored[job]["words"][position][index]
        put(view.fetch, self.wants is not None)
        put(words.taken, self.asked is not None)

    def settle(self, read) -> None:
        """Compares, and takes into account what happens in this cycle."""
        part, port = self.part, self.part.port
        assert read(part.busy) == bool(self.in_use)
        if self.fetched is not None:
            assert read(part.view.control.as_value()) == self.fetched
            self.counts["read"] += 1
        if self.asked is not None:
            assert read(part.words.word) == self.asked
        self.fetched, self.asked = self.wants if self.wants is not None else self.fetched, self.wants_word
        in_use = list(self.in_use)
        if self.release is not None and read(part.i_release.ready):
            job, pulses = self.release
            entry = self.stored.pop(job)
            self.in_use.remove(entry["job_id"])
            self.ends[0].append(pack(part.o_ended.payload.shape(), {"job_id": entry["job_id"], "pulses": pulses}))
            self.release, self.fetched = None, None
        if self.shows and read(port.descriptor.ready):
            self._handed_over()
        self._answers(read, in_use)
        self._operations(read)
        self.in_use_before = in_use
        self.cycle += 1

    def _handed_over(self) -> None:
        """A descriptor has been taken."""
        self.coming = [self.rng.getrandbits(self.width) for _ in range(self.n_words)]
        self.words.append(self.coming)
        self.word, self.next_at, self.shows = self.cycle + 2, self.cycle + 2 + self.n_words, False
        self.first_at = self.cycle if self.at == 0 else self.first_at
        self.at += 1
        if self.at < len(self.descs):
            return
        job_id = self.descs[0]["job_id"]
        if self.abort:
            self.in_use.remove(job_id)
            self.ends[1].append(job_id)
            self.counts["aborted"] += 1
        else:
            self.handed.append({
                "descs": self.descs, "words": self.words, "job_id": job_id, "base": self.base,
                "through": self.next_at, "last_at": self.cycle, "first_at": self.first_at,
            })
        self.descs, self.handed_at = None, self.cycle

    def _answers(self, read, in_use: list[int]) -> None:
        """A probe is taken, and answered in the next cycle."""
        port = self.part.port
        if self.answer_due:
            assert read(port.answer.valid)
            assert read(port.answer.payload.ok) == (self.descs is not None)
            if read(port.answer.ready):
                self.answer_due = False
        else:
            assert not read(port.answer.valid)
        if self.probe is None or not read(port.probe.ready):
            return
        job_id, base = self.probe["job_id"], self.probe["base_pulse"]
        assert self.cycle > self.offered_at
        assert self.descs is None, "a probe overtakes the sequence before it"
        self.counts["behind a sequence"] += self.handed_at >= self.offered_at
        # A job that ends in the cycle before is in progress still.
        if job_id in self.in_use_before:
            self.counts["in progress"] += 1
        elif len(in_use) == self.n_jobs:
            self.ends[1].append(job_id)
            self.counts["no entry"] += 1
        else:
            self.in_use.append(job_id)
            self.descs, self.base, self.at, self.words = self._sequence(job_id), base, 0, []
            self.abort = self.rng.random() < 0.3
        self.latencies.append(self.cycle + 1 - self.offered_at)
        self.probe, self.answer_due = None, True

    def _operations(self, read) -> None:
        """An operation is handed over two cycles after its last descriptor, or when its blocks are known."""
        port = self.part.o_operation
        if self.handed and not read(port.valid):
            entry = self.handed[0]
            late = max(entry["last_at"] + 2, entry["first_at"] + 44 if entry["descs"][0]["block_count"] > 1 else 0)
            assert self.cycle < late, "an operation that comes too late"
        assert read(port.valid) or not self.offers, "an operation was taken back"
        self.offers = bool(read(port.valid) and not read(port.ready))
        if not read(port.valid):
            return
        assert self.handed, "an operation that nobody has handed over"
        entry, found = self.handed[0], unpack(self.shapes.operation, read(port.payload.as_value()))
        assert not differences(found, operation_of(entry["descs"], entry["base"]))
        assert found["job"] not in self.stored
        if not self.offers:
            self.stored[found["job"]] = self.handed.pop(0)
            self.counts["operations"] += 1
            self.counts["cut"] += found["blocks"]["cut"]
            self.counts["clear"] += found["blocks"]["clear"]
            self.counts["lazy", found["lazy"]] += 1

    def run(self, cycles: int) -> None:
        """Runs, and compares the ends that were reported."""
        part, rng = self.part, self.rng
        # The blocks of a message that is not cut mean nothing, and may change while the operation waits.
        operations = Takes(part.o_operation, rng, overtaken=True)
        answers, ended = Takes(part.port.answer, rng), Takes(part.o_ended, rng)
        # Ends wait long: there is room for few of them.
        ended.drive = lambda context: context.set(part.o_ended.ready, rng.random() < 0.17)
        run(part, [Inputs(self.drive, self.settle), answers, operations, ended], cycles=cycles, rng=rng)
        shape = part.o_ended.payload.shape()
        found: list[list[int]] = [[], []]
        for item in ended.taken:
            # An operation has had a pulse.
            over = not fields(shape, item)["pulses"]
            found[over].append(fields(shape, item)["job_id"] if over else item)
        for one, wanted in zip(found, self.ends, strict=True):
            assert one == wanted[:len(one)]
            assert len(wanted) - len(one) <= 2
        assert min(self.latencies) == 2


def observed(rng: random.Random, name: str) -> Bench:
    """A bench that has run."""
    bench = Bench(CONFIGS[name], rng)
    bench.run(1000)
    return bench


@pytest.mark.parametrize("name", CONFIGS)
def test_sequences(rng: random.Random, name: str) -> None:
    bench = observed(rng, name)
    kinds = ("operations", "read", "aborted", "in progress", "no entry", "cut", "behind a sequence")
    for kind in (*kinds, *(("clear", ("lazy", 1)) if name == "wide" else ())):
        assert bench.counts[kind] > 0, kind


FAULTS = {
    "the tag of the last descriptor": ("with m.If(position == 0):\n", "with m.If(1):\n"),
    "an entry that stays after an abort": ("s.taken.bit_select(filling, 1).eq(0), s.over.eq(1)", "s.over.eq(1)"),
    "a refusal that is reported once for two": ("~answer.valid & ~over & ~begun", "~answer.valid & ~begun"),
    "a probe beside a sequence": ("~answer.valid & ~over & ~begun", "~answer.valid & ~over"),
    "a job that is in twice": ("in_progress.eq(same.any())", "in_progress.eq(same.all())"),
    "a refusal that is not reported": ("with m.Elif(~in_progress):", "with m.Elif(in_progress):"),
    "words of the other entry": ("filled.eq(Cat(s.position, s.filling))", "filled.eq(Cat(s.position, ~s.filling))"),
    "blocks that are sent and then written": ("(kept & ~seen.slice) | Mux", "kept | Mux"),
    "blocks of the sequence before": ("known.eq(Mux(seen.first, 0, written))", "known.eq(written)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SequenceStore", changed(SequenceStore, *FAULTS[fault]))

    def look() -> None:
        # Some need two blocks in an order that not every sequence of random descriptors has.
        for seed in range(6):
            observed(random.Random(seed), "wide")

    with pytest.raises(AssertionError):
        look()
