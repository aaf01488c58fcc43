"""A whole NIC whose link leads back to itself: it is all of its own peers."""

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import CplKind, Operand, P2pOp, Status
from firmware_models.abi.formats import DESCRIPTOR
from testbench.clock import start
from testbench.link.link_model import LinkWire
from testbench.nic.host import NicHost, Port
from testbench.runner import report, rng

NODE_ID = 0x123456


async def nic(dut) -> NicHost:
    """A NIC that is up, its link looped back with random delays."""
    host = NicHost(dut)
    wire = LinkWire(dut, "tx", "rx", cycles=(1, 30))
    await start(dut, max_cycles=200_000)
    cocotb.start_soon(wire.run())
    await host.write("node_id", NODE_ID)
    await host.write("control", 1)
    return host


def send(port: Port, to: Port, payload: bytes, **fields: int) -> bytes:
    """A mini packet from one VP to another."""
    return DESCRIPTOR.pack(**{
        "p2p_op": P2pOp.SEND, "dest_id": NODE_ID, "dest_vp": to.vp, "source_vp": port.vp, "length": len(payload),
        "payload": int.from_bytes(payload, "little"), **fields,
    })


def put(port: Port, to: Port, length: int, **fields: int) -> bytes:
    """Memory of one VP's window into another's."""
    return DESCRIPTOR.pack(**{
        "kind": 1, "p2p_op": P2pOp.PUT, "dest_id": NODE_ID, "dest_vp": to.vp, "source_vp": port.vp, "length": length,
        "local_addr": port.window.start, "remote_addr": to.window.start + 0x1000, **fields,
    })


def doubling(port: Port, length: int, **fields: int) -> list[bytes]:
    """A sequence in which the NIC adds what it sent to itself: the result is twice the operand."""
    common = {
        "kind": 1, "c": 1, "job_id": 40 + port.vp, "dest_id": NODE_ID, "dest_vp": port.vp, "source_vp": port.vp,
        "length": length, "pulse_bytes": 64, "local_addr": port.window.start, "result_addr": port.window.start + 0x2000,
    } | fields
    return [
        DESCRIPTOR.pack(**common, ch=1, cp=1, operand=Operand.MEMORY),
        DESCRIPTOR.pack(**common, ct=1, cp_count=1, reduce_flag=1, write_back=1, operand=Operand.INTERMEDIATE),
    ]


@cocotb.test()
async def registers_tell_what_it_is(dut):
    """Identification, and an address that holds nothing."""
    host = await nic(dut)
    assert await host.read("id") == 0x434F4E43
    assert await host.read("node_id") == NODE_ID
    assert await host.read("n_vps") == 4
    assert await host.read("n_cous") == 2
    first, second = [await host.read("cycles_lo") for _ in range(2)]
    assert first < second


@cocotb.test()
async def collectives_side_by_side(dut):
    """Two jobs on two units, back to back, at every boundary of a flit and a pulse."""
    host = await nic(dut)
    ports = [await host.open(vp) for vp in (1, 2)]
    numbers = np.random.default_rng(rng("data").getrandbits(32))
    await host.write("irq_enable", 1)
    n_operations = 0
    for length in (8, 56, 64, 72, 120, 128, 136, 640, 0):
        operands = []
        for port in ports:
            operand = numbers.standard_normal(length // 8) * 10.0 ** numbers.integers(-300, 300, length // 8)
            host.memory.write(port.window.start, operand.tobytes())
            operands.append(operand)
            await host.submit(port, *doubling(port, length, tag=length))
        for port, operand in zip(ports, operands, strict=True):
            completion = await host.completion(port)
            assert (completion["status"], completion["kind"]) == (Status.OK, CplKind.COLLECTIVE)
            assert (completion["tag"], completion["bytes"]) == (length, length)
            got = np.frombuffer(host.memory.read(port.window.start + 0x2000, length), np.float64)
            assert np.array_equal((operand + operand).view(np.uint64), got.view(np.uint64))
            n_operations += 1
    while not int(dut.irq.value):
        await RisingEdge(dut.clk)
    await host.write("irq_status", 1)
    assert await host.counter("completions") == n_operations
    assert await host.counter("completion_errors") == 0
    assert await host.counter("rx_malformed") == 0
    report(operations=n_operations)


@cocotb.test()
async def messages_and_puts(dut):
    """Mini packets into a receive queue, memory into memory; both sides see the same bytes."""
    host = await nic(dut)
    here, there = await host.open(0), await host.open(3)
    content = rng("content").randbytes(600)
    host.memory.write(here.window.start, content)
    for length in (1, 8, 63, 64):
        await host.submit(here, send(here, there, content[:length], tag=length))
        message = await host.message(there)
        assert message["source_id"] == NODE_ID
        assert (message["source_vp"], message["length"]) == (here.vp, length)
        assert message["payload"] == int.from_bytes(content[:length], "little")
        assert (await host.completion(here))["status"] == Status.OK
    for length in (1, 127, 128, 129, 600):
        host.memory.write(there.window.start + 0x1000, bytes(1024))
        await host.submit(here, put(here, there, length))
        assert (await host.completion(here))["status"] == Status.OK
        assert host.memory.read(there.window.start + 0x1000, 1024) == content[:length] + bytes(1024 - length)


@cocotb.test()
async def errors_hit_only_who_caused_them(dut):
    """Every bad descriptor ends in one error completion of its VP; another VP is served all the while."""
    host = await nic(dut)
    bad, good = await host.open(0), await host.open(1)
    host.memory.write(good.window.start, bytes(64))
    outside = good.window.start
    reserved = (1 << DESCRIPTOR.offset("reserved_0")).to_bytes(DESCRIPTOR.bytes, "little")
    spoilt = bytes(a | b for a, b in zip(send(bad, good, b"x"), reserved, strict=True))
    cases = {
        "reserved bits": ([spoilt], Status.BAD_DESCRIPTOR),
        "operand outside of the window": (doubling(bad, 64, local_addr=outside), Status.BAD_ADDRESS),
        "result outside of the window": (doubling(bad, 64, result_addr=outside), Status.BAD_ADDRESS),
        "address not aligned": (doubling(bad, 64, local_addr=bad.window.start + 1), Status.BAD_ADDRESS),
        "no CT": (doubling(bad, 64)[:1], Status.BAD_SEQUENCE),
        "no CH": (doubling(bad, 64)[1:], Status.BAD_SEQUENCE),
        "operator that doubles do not have": (doubling(bad, 64, operator=4), Status.UNSUPPORTED),
        "not of this queue": ([send(good, bad, b"x")], Status.BAD_DESCRIPTOR),
        "remote address outside of the window": (
            [put(bad, good, 64, remote_addr=bad.window.start)], Status.REMOTE_ACCESS
        ),
        "receiver that is not there": ([send(bad, Port(2, 0), b"x")], Status.RECEIVER_NOT_READY),
    }
    for name, (descriptors, status) in cases.items():
        await host.submit(bad, *descriptors)
        await host.submit(good, *doubling(good, 64))
        assert (await host.completion(bad))["status"] == status, name
        assert (await host.completion(good))["status"] == Status.OK, name
    assert await host.counter("completion_errors") == len(cases)


@cocotb.test()
async def lost_peer_times_out(dut):
    """A sequence that waits for a packet that nobody sends ends in TIMEOUT."""
    host = await nic(dut)
    await host.write("watchdog", 2000)
    port = await host.open(1)
    waiting = DESCRIPTOR.unpack(doubling(port, 64)[1]) | {"ch": 1, "operand": Operand.MEMORY}
    await host.submit(port, DESCRIPTOR.pack(**waiting))
    completion = await host.completion(port)
    assert completion["status"] == Status.TIMEOUT
    assert completion["detail"] == 0, "waited for SeqID 0 of pulse 0"
