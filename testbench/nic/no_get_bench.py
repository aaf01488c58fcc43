"""A whole NIC that is built without GET: what a GET would need is refused and counted, the rest goes on."""

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import P2pOp, PacketType, Status
from firmware_models.abi.formats import DESCRIPTOR, PACKET_HEADER
from testbench.nic.stranger_bench import PEER_ID, Victim, harmless
from testbench.packet import answer_fields


@cocotb.test()
async def packets_of_gets(dut: SimHandleBase) -> None:
    """A GET from elsewhere, and data that answer one."""
    def strangers(victim: Victim) -> None:
        victim.send(type=PacketType.GET, tag=1)
        victim.send(b"\x40" * 64, type=PacketType.GET_DATA, vc=1, tag=1)

    await harmless(dut, strangers, rx_unknown=2)


@cocotb.test()
async def descriptors_of_gets(dut: SimHandleBase) -> None:
    """Refused as UNSUPPORTED; the PUT behind it is not."""
    victim = Victim(dut)
    port = await victim.start()
    fields = {
        "kind": 1, "source_vp": port.vp, "dest_id": PEER_ID, "dest_vp": 1, "length": 64,
        "local_addr": port.window.start,
    }
    await victim.host.submit(port, DESCRIPTOR.pack(p2p_op=P2pOp.GET, tag=7, **fields))
    refused = await victim.host.completion(port)
    assert (refused["status"], refused["tag"]) == (Status.UNSUPPORTED, 7)
    await victim.host.submit(port, DESCRIPTOR.pack(p2p_op=P2pOp.PUT, tag=8, **fields))
    while not victim.sink.received[0]:
        await RisingEdge(dut.clk)
    raw = b"".join(word.to_bytes(victim.flit, "little") for word in victim.sink.received[0][0])
    put = PACKET_HEADER.unpack(raw[:PACKET_HEADER.bytes])
    assert put["type"] == PacketType.PUT
    victim.send(type=PacketType.ACK, vc=1, status=Status.OK, **answer_fields(put))
    ended = await victim.host.completion(port)
    assert (ended["status"], ended["tag"]) == (Status.OK, 8)
    await victim.expect()
