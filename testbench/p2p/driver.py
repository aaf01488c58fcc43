"""A point-to-point path that sends to itself through a network in Python, and the account of what it was asked."""

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from firmware_models.abi.encoding import CplKind, Kind, P2pOp, Right, Status
from rtl.abi import DescriptorControl
from rtl.interface import CompletionEvent
from testbench import clock
from testbench.bundle import Bundle
from testbench.edge import bits, every_cycle, level
from testbench.inline import DescriptorSource
from testbench.p2p.host import ENTRY_BYTES, Loopback, Memory, Pulse, VirtualPorts
from testbench.runner import rng
from testbench.stream import StreamSink
from testbench.unit_config import UNIT

MTU = 256
TAGS = {64: 8, 256: 2}
"""Operations in flight of the instance of each width."""
READ_AHEAD_BEATS = {64: 128, 256: 32}
"""Likewise: :data:`HELD` fragments are held, few enough to be all in use at times."""
HELD = 6
LATENCY = 200
"""Cycles of memory that is late: more than what is held covers, so one fragment fewer shows."""
NODE = 0x00C0DE
MEMORY_BYTES = 1 << 20
SOURCE, BAD_SOURCE, RINGS, TARGET = 0, 0x30000, 0x40000, 0x80000
"""Where in memory data are sent from, reads are refused, receive rings stand, and PUTs write to."""
BEARERS = ("source_id", "source_vp", "dest_vp", *formats.NONCE_FIELDS)
"""Fields of an answer that say whose it is."""
OPEN_VP, CLOSED_VP, FULL_VP = 3, 4, 5
FULL_ENTRIES = 2


def bundle(*, widths: Iterable[int] = tuple(TAGS), address_bits: int = 64) -> Bundle:
    """An instance of each width."""
    from rtl.p2p.p2p import P2p

    return Bundle({
        f"p2p_{width}": P2p(UNIT.changed(
            datapath={"data_width": width, "mtu": MTU},
            nic={"n_p2p_tags": TAGS[width], "address_bits": address_bits,
                 "read_ahead_beats": READ_AHEAD_BEATS[width]},
        ))
        for width in widths
    })


class Bench:
    """The instance with everything around it, and the account of descriptors and completions."""

    def __init__(
        self, dut: SimHandleBase, width: int, *, pause: float | None = None, delay: int = 40, latency: int = 0
    ):
        prefix = f"p2p_{width}__"
        self.dut = dut
        self.flit = width // 8
        self.numbers = rng(f"operations {width}")
        self.memory = Memory(dut, prefix, width, MEMORY_BYTES, pause=pause, latency=latency)
        self.vps = VirtualPorts(dut, prefix, flit=self.flit, pause=pause)
        self.network = Loopback(dut, prefix, width, pause=pause, delay=delay)
        self.descriptors = DescriptorSource(
            dut, f"{prefix}port__descriptor", Bench.desc_shape(), inline=f"{prefix}inline_data", data_width=width,
            idle=pause,
        )
        self.events = StreamSink(dut, f"{prefix}o_event", CompletionEvent, stall=pause)
        self.unknown, self.delivered = Pulse(dut, f"{prefix}counts__unknown"), Pulse(dut, f"{prefix}counts__delivered")
        self.forged = Pulse(dut, f"{prefix}counts__forged")
        self.expected: dict[int, dict[str, int]] = {}
        self.posted = 0
        self._next_target = TARGET
        names = ("node_id", "answer_key", "time__cycles", "time__watchdog", "port__room", "port__get_room", "busy")
        self._ports = {name: getattr(dut, f"{prefix}{name}") for name in names}
        self.vps.windows[OPEN_VP] = [(range(TARGET, MEMORY_BYTES), (Right.REMOTE_WRITE,))]
        self.vps.rings = {OPEN_VP: (RINGS, 1024), FULL_VP: (RINGS + 1024 * ENTRY_BYTES, FULL_ENTRIES)}
        self.memory.bad = [range(BAD_SOURCE, BAD_SOURCE + 1)]

    @staticmethod
    def desc_shape() -> Any:
        """Payload of `port.descriptor`."""
        from amaranth.lib import data

        return data.StructLayout({"desc": DescriptorControl})

    async def start(self) -> None:
        """Reset, then time runs and `room` is watched."""
        await clock.start(self.dut)
        self._ports["node_id"].value = NODE
        self._ports["answer_key"].value = self.numbers.getrandbits(64)
        every_cycle(self.dut.clk, self._watcher())

    def _watcher(self) -> Callable[[], None]:
        """Checks that there is room exactly when a descriptor is taken, and lets time run."""
        had_room = {"port__room": False, "port__get_room": False}
        rooms = {name: level(self._ports[name]) for name in had_room}
        bus, counter = self.descriptors.bus, count(1001)
        is_valid, is_ready, payload = level(bus.valid), level(bus.ready), bits(bus.payload)

        def watch() -> None:
            valid, ready = is_valid(), is_ready()
            operation = payload() >> formats.DESCRIPTOR.offset("p2p_op") & 3 if valid else None
            for name, has_room in rooms.items():
                room = has_room()
                if valid and (operation == P2pOp.GET) == (name == "port__get_room"):
                    assert room == ready, f"{name} {room}, but ready {ready}"
                assert room or not had_room[name], f"{name} went away without a descriptor"
                had_room[name] = room and not (valid and ready)
            self._ports["time__cycles"].value = next(counter)

        return watch

    def ended(self) -> list[tuple[str, str]]:
        """Status and kind of every completion that came, in words."""
        return [(Status(event["status"]).name, CplKind(event["kind"]).name) for event in self.events.received]

    def set_watchdog(self, cycles: int) -> None:
        """Changes the limit."""
        self._ports["time__watchdog"].value = cycles

    @property
    def busy(self) -> bool:
        """Some operation is in progress."""
        return bool(int(self._ports["busy"].value))

    def post(self, expected: Mapping[str, int], **fields: int) -> dict[str, int]:
        """Posts a descriptor to this node itself; `expected` is what of its completion differs from success."""
        self.posted += 1
        payload = fields.pop("payload_bytes", b"")
        desc = {
            "dest_id": NODE, "dest_vp": OPEN_VP, "source_vp": self.numbers.randrange(2048), "tag": self.posted,
            "payload": int.from_bytes(payload, "little"), "length": len(payload),
        } | fields
        self.descriptors.append({"desc": desc})
        self.expected[self.posted] = {
            "vp": desc["source_vp"], "status": Status.OK, "kind": CplKind.SEND + desc["p2p_op"], "job_id": 0,
            "bytes": desc["length"], "tag": self.posted, "detail": 0,
        } | dict(expected)
        return desc

    def target(self, length: int) -> int:
        """A fresh address to write to."""
        start = self._next_target
        self._next_target += -(-(length + 64) // 64) * 64
        assert self._next_target <= MEMORY_BYTES - 0x2000
        return start

    async def time(self) -> int:
        """Waits for what was posted. Cycles until the first completion came."""
        elapsed = 0
        while not self.events.received:
            await RisingEdge(self.dut.clk)
            elapsed += 1
        await self.settle()
        return elapsed

    async def settle(self, patience: int = 20_000) -> None:
        """Waits for all completions, `patience` cycles for each, and checks that each came once, as expected."""
        waited = done = 0
        while waited < patience and (done < self.posted or self.busy):
            await RisingEdge(self.dut.clk)
            waited = waited + 1 if len(self.events.received) == done else 0
            done = len(self.events.received)
        await clock.cycles(self.dut, 300)
        got = {event["tag"]: event for event in self.events.received}
        assert len(self.events.received) == self.posted, f"{len(self.events.received)} completions of {self.posted}"
        for tag, event in self.expected.items():
            assert got[tag] == event, f"{got[tag]} instead of {event}"
        assert not self.busy


def lengths(flit: int) -> list[int]:
    """Lengths at the boundaries of flit and mtu, and of the data of a PUT's fragments when it has several."""
    around = {k * MTU + d for k in (1, 2, 5) for d in (-flit, -1, 0, 1, flit)}
    around |= {k * (MTU - flit) + d for k in (2, 5) for d in (-1, 0, 1)}
    return sorted({0, 1, flit - 1, flit, flit + 1, 63, 64, 65} | around)


def put_packets(flit: int, length: int) -> int:
    """Packets of a PUT: each of several begins with a flit of its operation's range."""
    return 1 if length <= MTU else -(-length // (MTU - flit))


async def check_entries(bench: Bench, vp: int, sent: list[tuple[int, bytes]]) -> None:
    """The ring holds exactly these mini packets: (source VP, data), in order."""
    base, _ = bench.vps.rings[vp]
    assert bench.vps.produced.get(vp, 0) == len(sent)
    stamp = 0
    for k, (source_vp, payload) in enumerate(sent):
        start = base + k * ENTRY_BYTES
        entry = formats.RECEIVE.unpack(bytes(bench.memory.content[start:start + ENTRY_BYTES]))
        assert entry["timestamp"] >= stamp
        stamp = entry["timestamp"]
        assert entry == dict.fromkeys(entry, 0) | {
            "payload": int.from_bytes(payload, "little"), "source_id": NODE, "source_vp": source_vp,
            "length": len(payload), "phase": 1, "timestamp": stamp,
        }
    assert stamp > 0 or not sent


def post_put(bench: Bench, length: int, mini: bool) -> tuple[int, bytes]:
    """A PUT that succeeds; returns where its data have to stand."""
    target = bench.target(length)
    if mini:
        data = bench.numbers.randbytes(length)
        bench.post({}, p2p_op=P2pOp.PUT, kind=Kind.MP, payload_bytes=data, remote_addr=target)
    else:
        source = SOURCE + bench.numbers.randrange(0, 0x20000, bench.flit)
        data = bytes(bench.memory.content[source:source + length])
        bench.post({}, p2p_op=P2pOp.PUT, kind=Kind.RDMA, length=length, local_addr=source, remote_addr=target)
    return target, data


def check_ahead(packets: int, beats: int, elapsed: int) -> None:
    """Of each fragment its place is taken while memory answers, while its data come, and while they leave."""
    assert elapsed <= packets * (LATENCY + 2 * beats + 20) // HELD + LATENCY + 100, elapsed
