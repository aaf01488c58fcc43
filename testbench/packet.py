"""Packets inside of the NIC: drivers and monitors for ``rtl.interface.PacketSignature``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.queue import Queue
from cocotb.triggers import Event, RisingEdge

from firmware_models.abi.formats import NONCE_FIELDS, PACKET_HEADER
from rtl.abi import PacketHeader
from rtl.interface import beat
from testbench.runner import rng
from testbench.stream import ProtocolError, StreamSink, StreamSource


@dataclass(frozen=True)
class Packet:
    """A packet: the header's fields, and as many bytes of payload as its `length` says."""

    header: Mapping[str, int]
    payload: bytes = b""

    @classmethod
    def make(cls, payload: bytes = b"", **header: int) -> "Packet":
        """A packet with `length` filled in; header fields that are not given are 0."""
        fields = {name: 0 for name, _ in PacketHeader}
        unknown = header.keys() - fields.keys()
        if unknown:
            raise KeyError(f"packet header has no field {', '.join(sorted(unknown))}")
        return cls(fields | {"length": len(payload)} | header, payload)


def pack_header(**fields: int) -> bytes:
    """A packet header of any values, also of those that mean nothing, which the codec refuses."""
    bits = 0
    for name, value in fields.items():
        assert 0 <= value < 1 << PACKET_HEADER[name].width, f"{name} = {value}"
        bits |= value << PACKET_HEADER.offset(name)
    return bits.to_bytes(PACKET_HEADER.bytes, "little")


def answer_fields(request: Mapping[str, int]) -> dict[str, int]:
    """Fields of the header that answers a SEND, PUT or GET: all but `type`, `length` and `status`."""
    return {
        "version": request["version"], "dest_id": request["source_id"], "dest_vp": request["source_vp"],
        "source_id": request["dest_id"], "source_vp": request["dest_vp"],
        **{name: request[name] for name in ("tag", "fragment", "addr", *NONCE_FIELDS)},
    }


def beat_count(length: int, data_width: int) -> int:
    """Beats of a payload of `length` bytes."""
    return -(-length * 8 // data_width)


def to_beats(payload: bytes, data_width: int, padding: int = 0) -> list[dict[str, int]]:
    """The beats of `payload`; bytes beyond its end are taken from `padding`."""
    flit_bytes = data_width // 8
    beats = []
    for start in range(0, len(payload), flit_bytes):
        part = payload[start:start + flit_bytes]
        fill = padding.to_bytes(flit_bytes, "little")[len(part):]
        beats.append({"data": int.from_bytes(part + fill, "little"), "last": int(start + flit_bytes >= len(payload))})
    return beats


def from_beats(beats: list[dict[str, int]], length: int, data_width: int) -> bytes:
    """The first `length` bytes of the beats' data."""
    return b"".join(item["data"].to_bytes(data_width // 8, "little") for item in beats)[:length]


class PacketSource:
    """Sends packets on an input of the component, with random idle cycles before header and beats.

    Parameters
    ----------
    dut : SimHandleBase
        The component.
    name : str
        Name of the ``PacketSignature`` member.
    data_width : int
        Bits of a flit.
    idle : float, optional
        As for :class:`testbench.stream.StreamSource`.
    """

    def __init__(self, dut: SimHandleBase, name: str, data_width: int, *, idle: float | None = None):
        self.data_width = data_width
        self.clock = dut.clk
        self._header = StreamSource(dut, f"{name}__header", PacketHeader, idle=idle)
        self._payload = StreamSource(dut, f"{name}__payload", beat(data_width), idle=idle)
        self._rng = rng(f"{name} padding")
        self._queue: Queue[Packet] = Queue()
        self._unfinished = 0
        cocotb.start_soon(self._run())

    def append(self, packet: Packet) -> None:
        """Queues a packet."""
        self._unfinished += 1
        self._queue.put_nowait(packet)

    async def drain(self) -> None:
        """Waits until everything queued has been transferred."""
        while self._unfinished:
            await RisingEdge(self.clock)

    async def _run(self) -> None:
        while True:
            packet = await self._queue.get()
            await RisingEdge(self.clock)
            while True:
                await self._header.send(dict(packet.header))
                for item in to_beats(packet.payload, self.data_width, self._rng.getrandbits(self.data_width)):
                    await self._payload.send(item)
                self._unfinished -= 1
                if self._queue.empty():
                    break
                packet = self._queue.get_nowait()


class PacketSink:
    """Takes packets from an output of the component, with random backpressure.

    Fails the test if a payload comes before its header, a header within a payload, or `last` at another beat than the
    header's `length` says.

    Parameters
    ----------
    dut, name, data_width
        As for :class:`PacketSource`.
    stall : float, optional
        As for :class:`testbench.stream.StreamSink`.
    callback : callable, optional
        Called with every packet, besides collecting it in `received`.
    """

    def __init__(
        self, dut: SimHandleBase, name: str, data_width: int, *, stall: float | None = None, callback: Any = None
    ):
        self.name = name
        self.data_width = data_width
        self.clock = dut.clk
        self.received: list[Packet] = []
        """Packets that have come whole."""
        self._taken = 0
        self._arrival = Event()
        self._callback = callback
        self._pending: dict[str, int] | None = None
        self._beats: list[dict[str, int]] = []
        self._header = StreamSink(dut, f"{name}__header", PacketHeader, stall=stall, callback=self._on_header)
        self._payload = StreamSink(dut, f"{name}__payload", beat(data_width), stall=stall, callback=self._on_beat)

    def set_stall(self, rate: float | None) -> None:
        """Changes how often it stalls."""
        self._header.set_stall(rate)
        self._payload.set_stall(rate)

    async def receive(self) -> Packet:
        """The next packet that was not returned by an earlier call; waits for it if need be."""
        while self._taken == len(self.received):
            self._arrival.clear()
            await self._arrival.wait()
        self._taken += 1
        return self.received[self._taken - 1]

    def _on_header(self, header: dict[str, int]) -> None:
        if self._pending is not None:
            raise ProtocolError(f"{self.name}: a header within the payload of the packet before")
        self._pending = header
        if not header["length"]:
            self._finish()

    def _on_beat(self, item: dict[str, int]) -> None:
        if self._pending is None:
            raise ProtocolError(f"{self.name}: a payload beat without a header")
        self._beats.append(item)
        is_last = len(self._beats) == beat_count(self._pending["length"], self.data_width)
        if bool(item["last"]) != is_last:
            raise ProtocolError(f"{self.name}: last is {item['last']} at beat {len(self._beats)} of a packet of "
                                f"{self._pending['length']} bytes")
        if is_last:
            self._finish()

    def _finish(self) -> None:
        assert self._pending is not None
        packet = Packet(self._pending, from_beats(self._beats, self._pending["length"], self.data_width))
        self._pending, self._beats = None, []
        self.received.append(packet)
        self._arrival.set()
        if self._callback is not None:
            self._callback(packet)
