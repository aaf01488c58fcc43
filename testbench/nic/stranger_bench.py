"""A whole NIC that receives what it should not: counted, dropped, and without effect on anybody."""

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from firmware_models.abi.encoding import Operand, PacketType, Status
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.abi.registers import CONTROL_PAGE
from testbench.clock import start
from testbench.link.link_model import LinkSink, LinkSource
from testbench.nic.host import NicHost, Port
from testbench.packet import pack_header
from testbench.runner import parameters, rng

NODE_ID, PEER_ID = 0x123456, 0x654321
JOB = 8
ERRORS = ("rx_malformed", "rx_wrong_node", "rx_unknown", "rx_duplicates", "rx_not_joined")


class Victim:
    """The NIC, its host, and a network that can send anything."""

    def __init__(self, dut: SimHandleBase):
        self.dut = dut
        self.host = NicHost(dut)
        width, flits = parameters()["data_width"], parameters()["buffer_flits"]
        self.flit = width // 8
        self.source = LinkSource(dut, "rx", data_width=width, buffer_flits=flits)
        self.sink = LinkSink(dut, "tx", data_width=width, buffer_flits=flits)
        self.numbers = rng("strangers")
        self._pulse = 0

    async def start(self) -> Port:
        """Reset; a VP that is open."""
        await start(self.dut, max_cycles=200_000)
        await self.host.write("node_id", NODE_ID)
        await self.host.write("control", CONTROL_PAGE.pack("control", enable=1))
        return await self.host.open(1)

    def send(self, payload: bytes = b"", *, vc: int = 0, cut: int = 0, more: int = 0, **header: int) -> None:
        """A packet; `cut` flits are missing at its end, `more` are too many."""
        packed = pack_header(**{
            "version": formats.PACKET_VERSION, "dest_id": NODE_ID, "dest_vp": 1, "source_id": PEER_ID, "source_vp": 1,
            "length": len(payload), **header,
        })
        data = b"".join(part.ljust(-(-len(part) // self.flit) * self.flit, b"\0") for part in (packed, payload))
        data = data[:len(data) - cut * self.flit] + self.numbers.randbytes(more * self.flit)
        words = [int.from_bytes(data[at:at + self.flit], "little") for at in range(0, len(data), self.flit)]
        self.source.append((vc, words))

    def operand(self, payload: bytes, **header: int) -> None:
        """A packet of the collective."""
        self.send(payload, type=PacketType.COLLECTIVE, job_id=JOB, pulse=self._pulse, **header)

    async def post(self, port: Port) -> None:
        """An operation that adds a packet to zeros."""
        operand = port.window.start
        self.host.memory.write(operand, bytes(64))
        await self.host.submit(port, DESCRIPTOR.pack(
            kind=1, c=1, ch=1, ct=1, job_id=JOB, source_vp=port.vp, length=64, pulse_bytes=64, operand=Operand.MEMORY,
            cp_count=1, reduce_flag=1, write_back=1, local_addr=operand, result_addr=operand + 0x100,
        ))

    async def ends(self, port: Port, payload: bytes) -> None:
        """The operation ends well, and its result is the payload."""
        assert (await self.host.completion(port))["status"] == Status.OK
        assert self.host.memory.read(port.window.start + 0x100, 64) == payload
        self._pulse += 1

    async def expect(self, **counts: int) -> None:
        """These errors have been counted, and no others."""
        await self.source.drain()
        for _ in range(200):
            await RisingEdge(self.dut.clk)
        found = {name: await self.host.counter(name) for name in ERRORS}
        assert found == dict.fromkeys(ERRORS, 0) | counts


async def harmless(dut: SimHandleBase, strangers, **counts: int) -> None:
    """An operation waits for its packet while `strangers` come; then it gets it."""
    victim = Victim(dut)
    port = await victim.start()
    payload = b"\x3f" * 64
    await victim.post(port)
    strangers(victim)
    await victim.expect(**counts)
    victim.operand(payload)
    await victim.ends(port, payload)
    assert await victim.host.counter("completion_errors") == 0


@cocotb.test()
async def malformed_packets(dut: SimHandleBase) -> None:
    """Unknown type, unknown version, a flit too few or too many, no whole header, on a channel that is not theirs."""
    def strangers(victim: Victim) -> None:
        body = b"\x40" * 64
        victim.operand(body, version=2)
        victim.send(body, type=15)
        victim.operand(body, cut=1)
        victim.operand(body, more=1)
        victim.operand(b"", cut=1)
        victim.operand(body, length=parameters()["mtu"] + 1)
        victim.send(type=PacketType.CREDIT, vc=0, job_id=JOB, credits=1)
        victim.operand(body, vc=1)

    await harmless(dut, strangers, rx_malformed=8)


@cocotb.test()
async def packets_of_others(dut: SimHandleBase) -> None:
    """Another NodeID, in one bit."""
    def strangers(victim: Victim) -> None:
        for bit in (0, 11, 23):
            victim.operand(b"\x40" * 64, dest_id=NODE_ID ^ 1 << bit)

    await harmless(dut, strangers, rx_wrong_node=3)


@cocotb.test()
async def answers_to_nothing(dut: SimHandleBase) -> None:
    """Acknowledgements that nobody waits for."""
    def strangers(victim: Victim) -> None:
        for tag in (0, 1, 0xFFFF):
            victim.send(type=PacketType.ACK, vc=1, tag=tag, status=Status.OK)

    await harmless(dut, strangers, rx_unknown=3)


@cocotb.test()
async def multicasts_of_others(dut: SimHandleBase) -> None:
    """Groups that the NIC has not joined; and its own packet, come back."""
    def strangers(victim: Victim) -> None:
        for source in (PEER_ID, NODE_ID):
            victim.operand(b"\x40" * 64, multicast=1, mlid=formats.FIRST_MLID, dest_id=3, source_id=source)

    await harmless(dut, strangers, rx_not_joined=2)


@cocotb.test()
async def duplicates(dut: SimHandleBase) -> None:
    """A packet whose key is in the buffer: the first one counts."""
    victim = Victim(dut)
    port = await victim.start()
    payload = b"\x3f" * 64
    victim.operand(payload)
    for _ in range(3):
        victim.operand(b"\x40" * 64)
    await victim.expect(rx_duplicates=3)
    await victim.post(port)
    await victim.ends(port, payload)
