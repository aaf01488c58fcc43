"""The aggregator against a model of bytes: passes of several contexts on both of its paths, its neighbours slow."""

from collections import deque
from itertools import pairwise, product
from typing import Any

import cocotb
from amaranth.lib import wiring
from cocotb.handle import SimHandleBase
from cocotb.triggers import Event

from firmware_models.abi.encoding import Datatype, Operator, Status
from firmware_models.config import Config
from rtl.abi import PacketHeader
from rtl.cou.shapes import Select, Source
from rtl.credit.pool_signature import Consumed
from rtl.interface import beat as beat_of
from testbench import clock
from testbench.codec import decoder
from testbench.cou.lane_pass import pass_of_zeros
from testbench.cou.port_memory import PortMemory
from testbench.coverage import cover, dealt
from testbench.edge import bits, every_cycle, level
from testbench.packet import Packet, PacketSink, to_beats
from testbench.runner import parameters, report, rng
from testbench.stream import StreamMonitor, StreamSink, StreamSource
from testbench.unit_config import UNIT

CONTEXTS, JOBS, SLOTS, MTU, RESULT, FLIT = 8, 4, 16, 64, 256, 8
MEMORY, REFUSED = 8192, range(7168, 8192)
"""Bytes of host memory; those that it refuses to write."""
OPERATORS = {
    Operator.SUM: lambda a, b: (a + b) & (1 << 64) - 1, Operator.AND: int.__and__, Operator.OR: int.__or__,
    Operator.XOR: int.__xor__,
}

noted_pass = cover(
    "pass", a=tuple(Source), select=tuple(Select), where=("kept", "sent", "written", "sent and written"),
)
noted_size = cover("size", bytes=("none", "part of a flit", "a flit", "several", "all"), path=("lane", "engine"))
noted_end = cover("consumed", damaged=(0, 1), granted=(0, 1))


def config() -> Config:
    """Of the component."""
    return UNIT.changed(
        datapath={"data_width": 8 * FLIT, "mtu": MTU},
        cou={"n_jobs": JOBS, "n_contexts": CONTEXTS, "n_peers": 2, "buffer_bytes": SLOTS * MTU, "n_blocks": 4,
             "intermediate_bytes": RESULT},
    )


def _payload(members: Any, name: str) -> Any:
    for part in name.split("__"):
        signature = members[part].signature
        assert isinstance(signature, wiring.Signature)
        members = signature.members
    return members["payload"].shape


class Bench:
    """Drivers, monitors, and the bytes that every pass has to leave behind."""

    def __init__(self, dut: SimHandleBase, *, idle: float | None = None):
        from rtl.cou.aggregator import Aggregator

        members = Aggregator(config()).signature.members
        self.dut, self.rng = dut, rng("passes")
        self.runs, self.sends, self.data = (
            StreamSource(dut, name, _payload(members, name), idle=idle) for name in ("i", "i_send", "packets__beats")
        )
        self.memory = PortMemory(dut, 8 * FLIT, MEMORY, read=None)
        self.memory.bad.update(REFUSED)
        self.tx = PacketSink(dut, "tx", 8 * FLIT, callback=self._sent)
        StreamMonitor(dut, "packets__beats", _payload(members, "packets__beats"), callback=self._fed)
        StreamMonitor(dut, "tx__header", PacketHeader, callback=self._leaves)
        StreamMonitor(dut, "tx__payload", beat_of(8 * FLIT), callback=self._shows)
        self.sinks = [
            StreamSink(dut, name, _payload(members, name), callback=call) for name, call in (
                ("o_done", self._done), ("packets__read", self._read), ("packets__leaving__free", self._free),
                ("packets__leaving__credit", lambda item: self._next("credit", item)),
                ("o_fault", lambda item: self._next(f"fault {item['job'] & 1}", item)),
                ("o_written", lambda item: self._next(f"written {item['job'] & 1}", item)),
            )
        ]
        self.operands = [bytearray(self.rng.randbytes(MTU)) for _ in range(CONTEXTS)]
        self.results = [bytearray(RESULT) for _ in range(CONTEXTS)]
        self.ended = [Event() for _ in range(CONTEXTS)]
        self.written = bytearray(MEMORY)
        self.flaws: deque[int] = deque()
        """Of the beats of packets that are still to be read: whether it is damaged."""
        self.expected: dict[str, deque[Any]] = {name: deque() for name in ("free", "credit", "lane", "engine", *(
            f"{name} {sends}" for name in ("fault", "written", "packet", "lender") for sends in (0, 1)
        ))}
        """Passes that send, and those that do not, keep their order among themselves; job, slot, `want` say which."""
        self.begun = self.read = self.taken = 0
        """Packets of which a beat has been read, all of them, and those whose pass has begun."""
        self._within = False
        self.headers: deque[list[Any]] = deque()
        """Of the packets of the lane: header, and how many packets must have begun to be read before it leaves."""
        self._length = 0
        self.share, self._modes = 0.3, dealt(self.rng, [
            (share, slow) for share in (0, 0.3, 1) for slow in ("nothing", "ends", "link")
        ])
        self._cases = dealt(self.rng, product(Source, Select, (0, 1), (0, 1)))
        self.slots = [0, 1]
        self.passes = 0

    async def start(self, *, varies: bool = True) -> None:
        """Clock and reset; the ends and the link are slow in turn if the bench `varies`."""
        await clock.start(self.dut, max_cycles=150_000)
        self._taken = level(self.dut.packets__leaving__pool__taken)
        self._barred = level(self.dut.packets__leaving__barred)
        self._grant = [level(self.dut.packets__leaving__pool__granted), bits(self.dut.packets__leaving__pool__n_left)]
        self._consumed, self._consumes = bits(self.dut.packets__leaving__pool__consumed), decoder(Consumed)
        self._ports = [
            {
                "enable": level(getattr(self.dut, f"operands__{k}__enable")),
                "advance": level(getattr(self.dut, f"operands__{k}__advance")),
                "address": bits(getattr(self.dut, f"operands__{k}__address")),
                "data": getattr(self.dut, f"operands__{k}__data"),
            } for k in range(2)
        ]
        self._words = [0, 0]
        every_cycle(self.dut.clk, self._cycle)
        if varies:
            cocotb.start_soon(self._vary())

    async def _vary(self) -> None:
        """More or less goes to the send engine, and ends or packets are taken slowly: what is behind fills up."""
        while True:
            self.share, slow = next(self._modes)
            self.sinks[0].set_stall(0.98 if slow == "ends" else None)
            self.tx.set_stall(0.97 if slow == "link" else None)
            await clock.cycles(self.dut, self.rng.randrange(200, 500))

    def _cycle(self) -> None:
        # The answer of the pool counts in the cycle in which a packet is taken.
        assert not (self._taken() and self._barred()), "a second packet at once"
        if self._taken():
            granted, gone, sends = int(self._grant[0]()), self._grant[1](), self._consumes(self._consumed())["want"]
            free, use, header, credit, damaged = self.expected[f"lender {sends}"].popleft()
            self.taken += use
            self.expected["free"].append((free | {"n_left": gone}, self.taken))
            if header:
                header[1] = self.taken
            self.expected["credit"].append(credit | {"loan": granted})
            noted_end(damaged=damaged, granted=granted)
        self.dut.packets__leaving__pool__granted.value = self.rng.randrange(2)
        self.dut.packets__leaving__barred.value = int(self.rng.random() < 0.1)
        self.dut.packets__leaving__pool__n_left.value = self.rng.randrange(3)
        self.dut.packets__damaged.value = self.flaws[0] if self.flaws else self.rng.randrange(2)
        # Operand memory: a word from the cycle after the next advance on.
        for k, port in enumerate(self._ports):
            if port["advance"]():
                port["data"].value = self._words[k]
            if port["enable"]():
                context, beat = divmod(port["address"](), MTU // FLIT)
                self._words[k] = int.from_bytes(self.operands[context][beat * FLIT:][:FLIT], "little")

    def _next(self, name: str, item: dict[str, Any]) -> None:
        assert self.expected[name], f"{name}: {item} was not expected"
        wanted = self.expected[name].popleft()
        assert item == wanted, f"{name}: {item}, not {wanted}"

    def _free(self, item: dict[str, Any]) -> None:
        wanted, read = self.expected["free"].popleft()
        assert item == wanted, f"free: {item}, not {wanted}"
        assert self.read >= read, "a slot is free while its packet is being read"

    def _fed(self, item: dict[str, int]) -> None:
        self.flaws.popleft()
        self.begun += not self._within
        self.read += item["last"]
        self._within = not item["last"]

    def _leaves(self, header: dict[str, int]) -> None:
        self._length = header["length"]
        if self.headers and self.headers[0][0] == header:
            assert self.begun >= self.headers.popleft()[1], "a header leaves before its pass has begun"

    def _shows(self, item: dict[str, int]) -> None:
        tail = self._length % FLIT
        assert not item["last"] or not tail or not item["data"] >> 8 * tail, "what lies behind the pass is shown"

    def _read(self, item: dict[str, int]) -> None:
        slot, content, flaws = self.expected[f"packet {item['slot'] & 1}"].popleft()
        assert item == {"slot": slot, "length": len(content)}
        self.flaws.extend(flaws)
        for beat in to_beats(content, 8 * FLIT, self.rng.getrandbits(8 * FLIT)):
            self.data.append(beat)

    def _done(self, item: dict[str, int]) -> None:
        self.ended[item["context"]].set()

    def _sent(self, packet: Packet) -> None:
        for path in ("lane", "engine"):
            queue = self.expected[path]
            # Packets to one peer keep their order.
            number = next((k for k, (header, _) in enumerate(queue) if header["peer"] == packet.header["peer"]), None)
            if number is not None and queue[number][0] == dict(packet.header):
                assert packet.payload == queue[number][1], f"what the {path} sent"
                del queue[number]
                return
        raise AssertionError(f"no packet with this header was next: {packet.header}")

    async def serve(self, context: int) -> None:
        """Passes of a context, one after the other."""
        for _ in range(parameters()["passes"]):
            if self.rng.random() < 0.4:
                self.operands[context][:] = self.rng.randbytes(MTU)
            self.ended[context].clear()
            if self.rng.random() < self.share:
                self._send(context)
            else:
                self._run(context)
            self.passes += 1
            await self.ended[context].wait()
            await clock.cycles(self.dut, self.rng.choice((1, 1, 2, 20)))

    def _take(self, context: int, size: int, a: Source) -> tuple[int, bytes]:
        position = self.rng.randint(0, RESULT - size)
        content = {
            Source.ZERO: bytes(size), Source.OPERAND: bytes(self.operands[context][:size]),
            Source.RESULT: bytes(self.results[context][position:position + size]),
        }[a]
        return position, content

    def _size(self, path: str, *, whole: bool, some: bool) -> int:
        size = self.rng.choice((*[0] * (1 if some else 3), 1, 7, 8, 9, 24, 63, 64, self.rng.randrange(MTU + 1)))
        size -= size % FLIT if whole else 0
        size = size or FLIT * some
        names = {0: "none", FLIT: "a flit", MTU: "all"}
        noted_size(bytes=names.get(size, "part of a flit" if size < FLIT else "several"), path=path)
        return size

    def _header(self, size: int) -> dict[str, int]:
        empty = dict(Packet.make().header)
        return empty | {
            "length": size, "tag": self.passes % (1 << 16), "job_id": self.rng.randrange(256),
            "addr": self.rng.getrandbits(64), "pulse": self.rng.getrandbits(16), "dest_id": self.rng.getrandbits(24),
        }

    def _send(self, context: int) -> None:
        size, a = self._size("engine", whole=False, some=False), self.rng.choice(list(Source))
        position, content = self._take(context, size, a)
        send, header = self.rng.randrange(2), self._header(size)
        if send:
            self.expected["engine"].append((header, content))
        self.sends.append({
            "a": a.value, "context": context, "position": position, "bytes": size, "send": send, "header": header,
        })

    def _run(self, context: int) -> None:
        numbers = self.rng
        a, select, send, write = next(self._cases)
        use = select is not Select.PASS_A
        size = self._size("lane", whole=select is Select.COMBINE, some=use or write)
        position, content = self._take(context, size, a)
        consume, job = use or numbers.randrange(2), 2 * numbers.randrange(JOBS // 2) + send
        operator, packet, flaws = numbers.choice(list(OPERATORS)), numbers.randbytes(size), [0]
        slot = self.slots[send] = (self.slots[send] + 2) % SLOTS
        if use:
            flaws = [int(numbers.random() < 0.1) for _ in range(-(-size // FLIT))]
            self.expected[f"packet {send}"].append((slot, packet, flaws))
            if any(flaws):
                self.expected[f"fault {send}"].append({"job": job, "status": int(Status.BUFFER_ERROR), "detail": 0})
        key = {
            "job_id": numbers.randrange(256), "node_id": 5, "vp": 3, "seq_id": numbers.randrange(32),
            "pulse": numbers.getrandbits(16), "fragment": 0,
        }
        credit = {
            "job_id": key["job_id"], "peer": numbers.randrange(64), "dest_id": numbers.getrandbits(24), "dest_vp": 1,
            "source_vp": 2, "window_slot": numbers.randrange(4), "credits": 1, "loan": numbers.randrange(2),
            "want": send, "shared": numbers.randrange(2),
        }
        header = self._header(size)
        leaves = [header, 0] if send else None
        if consume:
            self.expected[f"lender {send}"].append((
                {"key": key, "slot": slot}, int(use), leaves, credit, int(use and any(flaws)),
            ))
        out = content
        if select is Select.PASS_B:
            out = packet
        elif select is Select.COMBINE:
            pairs = zip(memoryview(content).cast("Q"), memoryview(packet).cast("Q"), strict=True)
            out = b"".join(OPERATORS[operator](x, y).to_bytes(FLIT, "little") for x, y in pairs)
        where = {(0, 0): "kept", (1, 0): "sent", (0, 1): "written", (1, 1): "sent and written"}[send, write]
        noted_pass(a=a, select=select, where=where)
        self.results[context][position:position + size] = out
        # Passes of different contexts may overtake each other, so each context has memory of its own.
        share = REFUSED.start // CONTEXTS
        address = context * share + numbers.randrange(share - MTU)
        if leaves:
            self.expected["lane"].append((header, out))
            self.headers.append(leaves)
        if write:
            if numbers.random() < 0.1:
                address = numbers.choice(REFUSED[:-MTU])
            else:
                self.written[address:address + size] = out
            self.expected[f"written {send}"].append({"job": job, "error": int(address in REFUSED)})
        self.runs.append({
            "a": a.value, "select": select.value, "use_packet": int(use), "datatype": int(Datatype.INT64),
            "operator": int(operator), "consume": int(consume), "packet": slot, "key": key, "credit": credit,
            "output": {
                "context": context, "job": job, "position": position, "bytes": size, "send": send, "header": header,
                "write_back": write, "result_addr": address,
                "pieces": {"count": 1, "bytes": size, "last_bytes": 0, "stride": 0},
            },
        })


@cocotb.test()
async def every_pass_leaves_what_it_should(dut: SimHandleBase) -> None:
    """Bytes of intermediate results, packets and host memory, order of credits and frees, reports of damage."""
    bench = Bench(dut)
    await bench.start()
    # Earlier content of a context has no effect, because the first passes overwrite it.
    contexts = [cocotb.start_soon(bench.serve(context)) for context in range(CONTEXTS)]
    for context in contexts:
        await context
    for _ in range(200):
        if not any(bench.expected.values()):
            break
        await clock.cycles(dut, 20)
    await clock.cycles(dut, 50)
    assert not any(bench.expected.values()), {name: len(items) for name, items in bench.expected.items() if items}
    assert bench.memory.data == bench.written, "host memory"
    report(passes=bench.passes)


@cocotb.test()
@cocotb.parametrize(path=("lane", "engine"))
async def peers_take_turns(dut: SimHandleBase, path: str) -> None:
    """Passes for one peer that come before those for another one do not leave all before them.

    The link stands still until all have come. Up to four are past the queue by then, so the first peer has six: two
    wait with those of the second one, and alternate with them. A queue without turns changes the peer exactly once.
    """
    first = CONTEXTS - 2
    bench = Bench(dut)
    await bench.start(varies=False)
    bench.tx.set_stall(1)
    order: list[int] = []
    StreamMonitor(dut, "tx__header", PacketHeader, callback=lambda header: order.append(header["peer"]))
    for context in range(CONTEXTS):
        header = bench._header(MTU) | {"peer": int(context >= first)}
        bench.passes += 1
        bench.expected[path].append((header, bytes(MTU)))
        if path == "engine":
            bench.sends.append({
                "a": Source.ZERO.value, "context": context, "position": 0, "bytes": MTU, "send": 1, "header": header,
            })
        else:
            bench.runs.append(pass_of_zeros(context, header, MTU))
    await clock.cycles(dut, 200)
    bench.tx.set_stall(None)
    while len(bench.tx.received) < CONTEXTS:
        await clock.cycles(dut, 20)
    assert sorted(order) == [0] * first + [1] * (CONTEXTS - first)
    assert sum(a != b for a, b in pairwise(order)) > 1, f"peers {order} in the order in which packets left"


@cocotb.test()
async def a_link_that_stands_still_stops_only_what_sends(dut: SimHandleBase) -> None:
    """Passes that send nothing go past those that wait for the link; once it moves, nothing is missing.

    All come before the first one has ended.
    """
    sending = CONTEXTS // 2
    bench = Bench(dut, idle=0)
    await bench.start(varies=False)
    bench.tx.set_stall(1)
    for context in range(CONTEXTS):
        header = bench._header(MTU) if context < sending else None
        if header:
            bench.expected["lane"].append((header, bytes(MTU)))
        bench.runs.append(pass_of_zeros(context, header, MTU))
    await clock.cycles(dut, 400)
    ended = [event.is_set() for event in bench.ended]
    assert all(ended[sending:]), f"ended while the link stood still: {ended}"
    assert not all(ended[:sending]), "all packets had room: nothing had to wait"
    bench.tx.set_stall(None)
    while len(bench.tx.received) < sending:
        await clock.cycles(dut, 20)
    assert not bench.expected["lane"]
