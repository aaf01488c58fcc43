"""A whole NIC that is built without a point-to-point path: what is for it is refused and counted, the rest goes on."""

import cocotb
from cocotb.handle import SimHandleBase

from firmware_models.abi.encoding import Kind, P2pOp, PacketType, Status
from firmware_models.abi.formats import DESCRIPTOR
from testbench.nic.stranger_bench import PEER_ID, Victim, harmless


@cocotb.test()
async def packets_of_others(dut: SimHandleBase) -> None:
    """Of every type that is not for an offload unit, with a payload and without one, on its channel."""
    def strangers(victim: Victim) -> None:
        for kind in (PacketType.SEND, PacketType.PUT, PacketType.GET):
            victim.send(type=kind, tag=1)
        victim.send(b"\x40" * 64, type=PacketType.PUT, tag=2)
        victim.send(b"\x40" * 64, type=PacketType.GET_DATA, vc=1, tag=1)
        victim.send(type=PacketType.ACK, vc=1, tag=1)

    await harmless(dut, strangers, rx_unknown=6)


@cocotb.test()
async def descriptors(dut: SimHandleBase) -> None:
    """Refused as UNSUPPORTED, each kind, the payload of a mini packet with it; the collective behind them is not."""
    victim = Victim(dut)
    port = await victim.start()
    common = {"source_vp": port.vp, "dest_id": PEER_ID, "dest_vp": 1}
    remote = {"kind": Kind.RDMA, "length": 64, "local_addr": port.window.start}
    for tag, fields in enumerate((
        {"kind": Kind.MP, "p2p_op": P2pOp.SEND, "length": 8, "payload": 1}, {"p2p_op": P2pOp.PUT, **remote},
        {"p2p_op": P2pOp.GET, **remote},
    ), 7):
        await victim.host.submit(port, DESCRIPTOR.pack(tag=tag, **common, **fields))
        refused = await victim.host.completion(port)
        assert (refused["status"], refused["tag"]) == (Status.UNSUPPORTED, tag)
    payload = b"\x3f" * 64
    await victim.post(port)
    victim.operand(payload)
    await victim.ends(port, payload)
    await victim.expect()
