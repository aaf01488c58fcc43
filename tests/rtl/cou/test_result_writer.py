"""Results on their way to the intermediate result, into packets, and to host memory."""

import random
from collections import Counter, deque

import pytest

from firmware_models.abi.encoding import Status
from firmware_models.config import Config
from rtl.abi import PacketHeader
from rtl.cou.lane import tag_layout
from rtl.cou.result_writer import ResultWriter
from rtl.cou.shapes import CouShapes
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs, Packets, pack
from testbench.parts.simulation import Offers, Takes, fields, run
from testbench.unit_config import UNIT

CONFIGS = {
    "narrow": UNIT.changed(datapath={"data_width": 64, "mtu": 64}, cou={
        "n_jobs": 2, "n_contexts": 2, "intermediate_bytes": 128, "n_blocks": 4}),
    "wide": UNIT.changed(datapath={"data_width": 128, "mtu": 128}, cou={
        "n_contexts": 4, "intermediate_bytes": 256, "n_blocks": 4, "ecc": True}),
}


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


class HostMemory:
    """The DMA engine behind a write port: takes requests and their beats, and acknowledges them in order."""

    def __init__(self, port, rng: random.Random, *, flit: int):
        self.port, self.rng, self.flit = port, rng, flit
        self.bytes: dict[int, int] = {}
        self.refused: set[int] = set()
        self.requests: list[tuple[int, int]] = []
        self._open: deque[list[int]] = deque()
        self._answers: deque[int] = deque()
        self._shown = False

    def drive(self, context) -> None:
        """Readies, and an acknowledgement."""
        context.set(self.port.request.ready, self.rng.random() < 0.6)
        context.set(self.port.data.ready, bool(self._open) and self.rng.random() < 0.7)
        self._shown = bool(self._answers) and (self._shown or self.rng.random() < 0.4)
        context.set(self.port.done.valid, self._shown)
        context.set(self.port.done.payload.error, self._answers[0] if self._shown else self.rng.getrandbits(1))

    def settle(self, read) -> None:
        """Takes what is offered."""
        port, flit = self.port, self.flit
        if self._shown and read(port.done.ready):
            self._answers.popleft()
            self._shown = False
        if read(port.data.valid) and read(port.data.ready):
            addr, n_bytes, beat = self._open[0]
            start = addr // flit * flit + beat * flit
            word = read(port.data.payload.data).to_bytes(flit, "little")
            self.bytes.update({start + k: byte for k, byte in enumerate(word) if addr <= start + k < addr + n_bytes})
            last = start + flit >= addr + n_bytes
            assert read(port.data.payload.last) == last
            self._open[0][2] += 1
            if last:
                self._open.popleft()
                self._answers.append(int(addr in self.refused))
        if read(port.request.valid) and read(port.request.ready):
            addr, n_bytes = read(port.request.payload.addr), read(port.request.payload.bytes)
            self.requests.append((addr, n_bytes))
            self._open.append([addr, n_bytes, 0])


class Bench:
    """Passes: each is announced, then released if it sends, while its results come, in order."""

    def __init__(self, config: Config, rng: random.Random):
        self.config, self.rng, shapes = config, rng, CouShapes(config)
        self.part = ResultWriter(shapes=shapes, ecc=config.cou.ecc)
        self.flit, self.mtu, self.n = config.datapath.flit_bytes, config.datapath.mtu, config.cou.n_contexts
        self.size = config.cou.intermediate_bytes
        self.output, self.tag = shapes.output, tag_layout(shapes)
        self.result_shape = self.part.result.payload.shape()
        self.memory = HostMemory(self.part.write, rng, flit=self.flit)
        self.free, self.next_addr = set(range(self.n)), 0
        self.announced: deque[dict] = deque()
        """Passes whose results have not been offered, with their beats."""
        self.beats: deque[tuple[int, dict, bool, bool]] = deque()
        self.released: deque[dict] = deque()
        self.packets: list[tuple[dict[str, int], bytes]] = []
        self.written: list[dict[str, int]] = []
        self.wanted_bytes: dict[int, int] = {}
        self.requests: list[tuple[int, int]] = []
        self.stores: list[tuple[int, bytes]] = []
        self.counts: Counter[object] = Counter()
        self.owed = 0

    def item(self) -> int:
        """A pass that sends or writes, or neither."""
        rng, flit = self.rng, self.flit
        context = rng.choice(sorted(self.free))
        self.free.discard(context)
        send, write = rng.choice(((1, 0), (0, 1), (1, 1), (1, 0), (0, 0)))
        n_bytes = rng.choice((flit - 1, flit, flit + 1, rng.randint(1, self.mtu), self.mtu, 0 if not write else flit))
        position, store = rng.randint(0, self.size - n_bytes), int(n_bytes > 0)
        job = rng.randrange(self.config.cou.n_jobs)
        # Pieces of one size, and perhaps a smaller one; apart from each other in memory.
        count = rng.choice((0, 1, 1, 2, 3)) if n_bytes >= 6 else 1
        size = n_bytes // count if count else n_bytes
        pieces = {"count": count, "bytes": size, "last_bytes": n_bytes - count * size,
                  "stride": size + rng.randint(0, 20)}
        addr, self.next_addr = self.next_addr + rng.randrange(2 * flit), self.next_addr + 6 * self.mtu + 200
        status = rng.choice((Status.OK, Status.OK, Status.PEER_ERROR))
        header = {"length": n_bytes, "addr": rng.getrandbits(64), "tag": rng.getrandbits(16), "status": status.value}
        self.announced.append({
            "context": context, "send": send, "write": write, "bytes": n_bytes, "position": position, "store": store,
            "job": job, "pieces": pieces, "addr": addr, "header": header, "data": rng.randbytes(n_bytes + flit),
            "spoilt": rng.random() < 0.3, "taken": False, "released": False,
        })
        if write:
            self._write(self.announced[-1])
        return pack(self.output, {
            "context": context, "job": job, "position": position, "bytes": n_bytes, "send": send, "write_back": write,
            "header": pack(PacketHeader, header), "result_addr": addr,
            "pieces": pack(self.output["pieces"].shape, pieces),
        })

    def _come(self, todo: dict) -> None:
        """The beats of a pass, and all that is to come of them."""
        flit, n_bytes, data = self.flit, todo["bytes"], todo["data"]
        n_beats = max(1, -(-n_bytes // flit))
        for k in range(n_beats):
            last, place = k + 1 == n_beats, (todo["position"] + k * flit) % self.size
            tag = {"last": last, "store": todo["store"], "send": todo["send"] and n_bytes > 0,
                   "write_back": todo["write"], "tail": n_bytes % flit, "position": place, "context": todo["context"]}
            word = int.from_bytes(data[k * flit:][:flit], "little")
            self.beats.append((pack(self.result_shape, {"data": word, "tag": pack(self.tag, tag)}), todo, k == 0, last))
            if todo["store"]:
                self.stores.append((todo["context"] * self.size + place, data[k * flit:min(n_bytes, (k + 1) * flit)]))
        self.counts["sent", todo["send"], "written", todo["write"]] += 1
        if todo["send"]:
            spoilt = todo["spoilt"] and self.config.cou.ecc and not todo["header"]["status"]
            header = {**todo["header"], **({"status": Status.BUFFER_ERROR.value} if spoilt else {})}
            self.counts["spoilt"] += spoilt
            self.packets.append((header, data[:n_bytes]))

    def _write(self, todo: dict) -> None:
        pieces, done, error = todo["pieces"], 0, 0
        sizes = [pieces["bytes"]] * pieces["count"] + [pieces["last_bytes"]] * (pieces["last_bytes"] > 0)
        for number, size in enumerate(sizes):
            addr = todo["addr"] + number * pieces["stride"]
            self.requests.append((addr, size))
            self.wanted_bytes.update({addr + k: todo["data"][done + k] for k in range(size)})
            done += size
            if self.rng.random() < 0.1:
                self.memory.refused.add(addr)
                error = 1
        self.written.append({"job": todo["job"], "error": error})

    def result(self) -> int:
        """The next beat."""
        return self.beats[0][0]

    def may_come(self) -> bool:
        """A pass may have results once it has been announced."""
        if not self.beats and self.announced and self.announced[0]["taken"]:
            self._come(self.announced.popleft())
        return bool(self.beats) and not self.to_release()

    def to_release(self) -> bool:
        """True if the header must be released before the next beat comes: the first one, or with ECC the last one."""
        if not self.beats:
            return False
        _, todo, first, last = self.beats[0]
        return bool(todo["send"] and not todo["released"] and (last if self.config.cou.ecc else first))

    def drive(self, put) -> None:
        """A pulse releases the header of the next pass that sends; until then `spoilt` may be anything."""
        release, spoilt = self.to_release(), self.rng.getrandbits(1)
        if release:
            todo = self.beats[0][1]
            todo["released"], spoilt = True, int(todo["spoilt"])
        put(self.part.release, release)
        put(self.part.spoilt, spoilt)

    def step(self, read) -> None:
        """Stores, ends, and passes that are taken."""
        flit = self.flit
        if self.passes.offered is not None and read(self.part.i.ready):
            next(todo for todo in self.announced if not todo["taken"])["taken"] = True
        if self.results.offered is not None and read(self.part.result.ready):
            self.beats.popleft()
        if read(self.part.store_enable):
            address, data = self.stores.pop(0)
            assert read(self.part.store_address) == address
            assert read(self.part.store_count) == len(data)
            assert read(self.part.store_beat).to_bytes(flit, "little")[:len(data)] == data
            self.counts["stored"] += 1
        if read(self.part.o_done.valid) and read(self.part.o_done.ready):
            context = read(self.part.o_done.payload.context)
            assert context not in self.free
            self.free.add(context)
            self.counts["done"] += 1
        self._owe(read)

    def _owe(self, read) -> None:
        """`crowded` follows the beats that are owed to the link, a few cycles later."""
        if self.passes.offered is not None and read(self.part.i.ready):
            todo = fields(self.output, self.passes.offered)
            self.owed += -(-todo["bytes"] // self.flit) * todo["send"]
        self.owed -= read(self.part.tx.payload.valid) & read(self.part.tx.payload.ready)
        beats = self.mtu // self.flit
        room = ResultWriter.PACKETS * beats + 2
        self.levels.append(self.owed)
        recent = self.levels[-4:]
        # A beat that leaves is counted a cycle sooner than a pass that begins.
        if min(recent) > room - beats + 1 and len(recent) == 4:
            assert read(self.part.crowded)
            self.counts["crowded"] += 1
        if max(recent) <= room - beats:
            assert not read(self.part.crowded)
            self.counts["roomy"] += 1

    def run(self, cycles: int, *, pause: float) -> None:
        """Runs, and compares all that has left."""
        part, rng = self.part, self.rng
        self.levels: list[int] = []
        self.passes, self.results = Offers(part.i, rng, self.item), Offers(part.result, rng, self.result)
        self.passes.may, self.results.may = lambda: bool(self.free), self.may_come
        done, written = Takes(part.o_done, rng), Takes(part.o_written, rng)
        link = Packets(part.tx, rng, flit_bytes=self.flit)
        link.pause = pause
        run(part, [self.passes, Inputs(self.drive), self.results, self.memory, link, done, written], step=self.step,
            cycles=cycles, rng=rng)
        for number, (header, beats) in enumerate(link.taken):
            wanted, data = self.packets[number]
            found = fields(PacketHeader, header)
            assert {name: found[name] for name in wanted} == wanted
            content = [int.from_bytes(data[k:][:self.flit], "little") for k in range(0, len(data), self.flit)]
            assert beats == content[:len(beats)]
            assert len(beats) == len(content) or number + 1 == len(link.taken)
        self.counts["packets"] = len(link.taken)
        assert self.memory.requests == self.requests[:len(self.memory.requests)]
        for addr, byte in self.memory.bytes.items():
            assert self.wanted_bytes[addr] == byte, hex(addr)
        found = [fields(part.o_written.payload.shape(), item) for item in written.taken]
        assert found == self.written[:len(found)]
        self.counts["written"] = len(found)
        assert len(self.requests) - len(self.memory.requests) <= 24


@pytest.mark.parametrize("name", CONFIGS)
def test_results(rng: random.Random, name: str) -> None:
    bench = Bench(CONFIGS[name], rng)
    bench.run(350, pause=0.4)
    assert min(bench.counts[kind] for kind in ("stored", "done", "packets", "written", "roomy")) > 6
    assert min(bench.counts["sent", *kind] for kind in ((0, "written", 0), (0, "written", 1), (1, "written", 1))) > 0
    assert (bench.counts["spoilt"] > 0) is CONFIGS[name].cou.ecc


def test_a_slow_link(rng: random.Random) -> None:
    """Results wait for the link, nothing is lost, and it shows in time that there is no room."""
    bench = Bench(CONFIGS["wide"], rng)
    bench.run(500, pause=0.93)
    assert bench.counts["crowded"] > 20


FAULTS = {
    "a beat beyond the pass is shown": ("data.eq(data_here & mask)", "data.eq(data_here)"),
    "the last beat is stored whole": ("self.store_count.eq(here.tail)", "self.store_count.eq(flit_bytes)"),
    "an end that finds no room": ("& (~here.last | self.o_done.ready)", ""),
    "a header that is not released": ("valid.eq(is_released & headers.o.valid)", "valid.eq(headers.o.valid)"),
    "a spoilt packet looks right": ("marks.i.payload.eq(self.spoilt)", "marks.i.payload.eq(0)"),
    "an earlier error is forgotten": ("marks.o.payload & (headers.o.payload.status == Status.OK)", "marks.o.payload"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ResultWriter", changed(ResultWriter, *FAULTS[fault]))
    with pytest.raises(AssertionError):
        test_results(random.Random(1), "wide")


def test_a_queue_that_is_not_watched_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ResultWriter", changed(
        ResultWriter, "self.crowded.eq(owed > packets.depth - mtu)", "self.crowded.eq(owed > packets.depth)"))
    with pytest.raises(AssertionError):
        test_a_slow_link(random.Random(1))
