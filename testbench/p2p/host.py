"""Environment of the point-to-point path in its bench: memory, virtual ports, network. All in Python."""

from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from cocotb.handle import SimHandleBase

from firmware_models.abi import formats
from firmware_models.abi.encoding import Right
from rtl.interface import ReadSignature, ReceiveSlotSignature, WindowSignature, WriteSignature
from testbench.edge import every_cycle, level
from testbench.packet import Packet, PacketSink, PacketSource
from testbench.runner import rng
from testbench.stream import StreamSink, StreamSource

ENTRY_BYTES = formats.RECEIVE.bytes


def port(driver: type, dut: SimHandleBase, name: str, signature: Any, stream: str, **kwargs: Any) -> Any:
    """A source or sink on one stream of a signature."""
    return driver(dut, f"{name}__{stream}", signature.members[stream].signature.members["payload"].shape, **kwargs)


class Memory:
    """Answers reads and writes as the DMA engine does; ranges of `bad` addresses answer errors.

    A write of which any beat is refused is not carried out at all. Each port is a client of its own. Reads are answered
    `latency` cycles after they were asked for, or at once.
    """

    def __init__(
        self, dut: SimHandleBase, prefix: str, width: int, size: int, *, pause: float | None = None, latency: int = 0
    ):
        self.content = bytearray(rng("memory").randbytes(size))
        self.bad: list[range] = []
        self.written: list[range] = []
        """Ranges in the order in which they were written."""
        self.flit = width // 8
        self._latency, self._now = latency, 0
        self._asked: deque[tuple[int, StreamSource, list[dict[str, int]]]] = deque()
        if latency:
            every_cycle(dut.clk, self._answer)
        reads = ReadSignature(width)
        for name in ("read", "get__read"):
            source = port(StreamSource, dut, f"{prefix}{name}", reads, "data", idle=pause)
            port(StreamSink, dut, f"{prefix}{name}", reads, "request", stall=pause, callback=self._reader(source))
        self.writers = {name: Writer(self, dut, f"{prefix}{name}", pause=pause) for name in ("write", "get__write")}

    def refuses(self, addresses: range) -> bool:
        """True if an access to these addresses fails."""
        return any(bad.start < addresses.stop and addresses.start < bad.stop for bad in self.bad)

    def check(self, request: dict[str, int]) -> None:
        """No client asks for nothing, or at an address that is not aligned."""
        assert request["bytes"] > 0, request
        assert request["addr"] % self.flit == 0, request

    def _reader(self, source: StreamSource) -> Callable[[dict[str, int]], None]:
        """Answers the requests of one read port."""

        def read(request: dict[str, int]) -> None:
            addr, count = request["addr"], request["bytes"]
            self.check(request)
            beats, answer = -(-count // self.flit), []
            for k in range(beats):
                start = addr + k * self.flit
                last = k == beats - 1
                error = last and self.refuses(range(addr, addr + count))
                word = int.from_bytes(self.content[start:start + self.flit], "little")
                answer.append({"data": word, "last": int(last), "error": int(error)})
            if self._latency:
                self._asked.append((self._now + self._latency, source, answer))
            else:
                source.extend(answer)

        return read

    def _answer(self) -> None:
        """Lets time pass for what has been asked for."""
        self._now += 1
        while self._asked and self._asked[0][0] <= self._now:
            _, source, answer = self._asked.popleft()
            source.extend(answer)


class Writer:
    """One write port of a memory."""

    def __init__(self, memory: Memory, dut: SimHandleBase, name: str, *, pause: float | None):
        self.memory = memory
        writes = WriteSignature(8 * memory.flit)
        self.done = port(StreamSource, dut, name, writes, "done", idle=pause)
        port(StreamSink, dut, name, writes, "request", stall=pause, callback=self._request)
        port(StreamSink, dut, name, writes, "data", stall=pause, callback=self._beat)
        self._requests: deque[dict[str, int]] = deque()
        self._beats: list[dict[str, int]] = []

    def _request(self, request: dict[str, int]) -> None:
        self.memory.check(request)
        self._requests.append(request)
        self._finish()

    def _beat(self, beat: dict[str, int]) -> None:
        self._beats.append(beat)
        self._finish()

    def _finish(self) -> None:
        while self._requests:
            addr, count = self._requests[0]["addr"], self._requests[0]["bytes"]
            beats = -(-count // self.memory.flit)
            if len(self._beats) < beats:
                return
            self._requests.popleft()
            taken, self._beats = self._beats[:beats], self._beats[beats:]
            assert [beat["last"] for beat in taken] == [0] * (beats - 1) + [1]
            data = b"".join(beat["data"].to_bytes(self.memory.flit, "little") for beat in taken)[:count]
            error = self.memory.refuses(range(addr, addr + count))
            if not error:
                self.memory.content[addr:addr + count] = data
                self.memory.written.append(range(addr, addr + count))
            self.done.append({"error": int(error)})


class VirtualPorts:
    """Memory windows and receive rings, by VP; a VP without an entry is disabled."""

    def __init__(self, dut: SimHandleBase, prefix: str, *, flit: int, pause: float | None = None):
        self.windows: dict[int, list[tuple[range, Collection[Right]]]] = {}
        """Memory and rights, by VP."""
        self.rings: dict[int, tuple[int, int]] = {}
        """Address and number of entries."""
        self.produced: dict[int, int] = {}
        self._flit = flit
        windows, slots = WindowSignature(), ReceiveSlotSignature()
        for name in ("window", "get__read_window", "get__write_window"):
            source = port(StreamSource, dut, f"{prefix}{name}", windows, "answer", idle=pause)
            port(StreamSink, dut, f"{prefix}{name}", windows, "query", stall=pause, callback=self._window(source))
        self._slot = port(StreamSource, dut, f"{prefix}receive_slot", slots, "answer", idle=pause)
        port(StreamSink, dut, f"{prefix}receive_slot", slots, "query", stall=pause, callback=self._ask_slot)

    def allows(self, vp: int, addr: int, count: int, right: int) -> bool:
        """True if a window of the VP holds this range and has the right."""
        return addr % self._flit == 0 and any(
            window.start <= addr and addr + count <= window.stop and right in rights
            for window, rights in self.windows.get(vp, [])
        )

    def _window(self, source: StreamSource) -> Callable[[dict[str, int]], None]:
        """Answers the queries of one client."""

        def ask(query: dict[str, int]) -> None:
            source.append({"ok": int(self.allows(query["vp"], query["addr"], query["bytes"], query["right"]))})

        return ask

    def _ask_slot(self, query: dict[str, int]) -> None:
        vp = query["vp"]
        index = self.produced.get(vp, 0)
        base, entries = self.rings.get(vp, (0, 0))
        if index >= entries:  # nobody consumes in this bench
            self._slot.append({"ok": 0, "addr": rng(f"slot {index}").getrandbits(64), "phase": 1})
            return
        self.produced[vp] = index + 1
        self._slot.append({"ok": 1, "addr": base + index * ENTRY_BYTES, "phase": 1})


class Loopback:
    """The network: brings what leaves on each channel back in, in order, after a random delay.

    `filters[vc]` maps a packet to the packets that arrive in its place. While `lose[vc]`, packets go to
    `lost[vc]` instead.
    """

    def __init__(self, dut: SimHandleBase, prefix: str, width: int, *, pause: float | None = None, delay: int = 40):
        self.filters: list[Callable[[Packet], list[Packet]]] = [lambda packet: [packet]] * 2
        self.lose = [False, False]
        self.lost: list[list[Packet]] = [[], []]
        self.sources = [PacketSource(dut, f"{prefix}rx__{vc}", width, idle=pause) for vc in range(2)]
        self._queues: list[deque[Packet]] = [deque(), deque()]
        self.sent: list[list[Packet]] = [[], []]
        self.sinks = [
            PacketSink(dut, f"{prefix}tx__{vc}", width, stall=pause, callback=partial(self._leave, vc))
            for vc in range(2)
        ]
        for vc in range(2):
            every_cycle(dut.clk, self._carrier(vc, delay))

    def _leave(self, vc: int, packet: Packet) -> None:
        self.sent[vc].append(packet)
        if self.lose[vc]:
            self.lost[vc].append(packet)
        else:
            self._queues[vc].extend(self.filters[vc](packet))

    def _carrier(self, vc: int, delay: int) -> Callable[[], None]:
        """Carries the packets of one channel."""
        numbers, queue = rng(f"delay {vc}"), self._queues[vc]

        def carry() -> None:
            if queue and numbers.random() * delay < 1:
                self.sources[vc].append(queue.popleft())

        return carry


class Pulse:
    """Counts the cycles in which an output is high."""

    def __init__(self, dut: SimHandleBase, name: str):
        self.count = 0
        self._high = level(getattr(dut, name))
        every_cycle(dut.clk, self._cycle)

    def _cycle(self) -> None:
        self.count += self._high()
