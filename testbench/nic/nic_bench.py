"""A whole NIC whose link leads back to itself: it is all of its own peers."""

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import CplKind, Operand, P2pOp, Right, Status
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.abi.registers import CONTROL_PAGE
from testbench.clock import start
from testbench.link.link_model import LinkWire
from testbench.nic.host import NicHost, Port
from testbench.runner import parameters, report, rng

STANDS_FOR = ("ReceivePath", "TransmitPath")
"""Parts that are built by no other test: this bench is theirs."""

NODE_ID = 0x123456


async def nic(dut) -> NicHost:
    """A NIC that is up, its link looped back with random delays."""
    host = NicHost(dut)
    wire = LinkWire(dut, "tx", "rx", cycles=(1, 30))
    await start(dut, max_cycles=200_000)
    cocotb.start_soon(wire.run())
    await host.write("node_id", NODE_ID)
    await host.write("control", CONTROL_PAGE.pack("control", enable=1))
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


def get(port: Port, to: Port, length: int, **fields: int) -> bytes:
    """Memory of another VP's window into one's own."""
    return DESCRIPTOR.pack(**{
        "kind": 1, "p2p_op": P2pOp.GET, "dest_id": NODE_ID, "dest_vp": to.vp, "source_vp": port.vp, "length": length,
        "local_addr": port.window.start + 0x1000, "remote_addr": to.window.start, **fields,
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


def _lengths(*lengths: int, every: int) -> tuple[int, ...]:
    """All of them in a thorough run, else one of so many: the parts' own benches have the others."""
    return lengths if parameters()["thorough"] else lengths[::every]


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
    await host.write("irq_enable", CONTROL_PAGE.pack("irq_enable", written=1))
    n_operations = 0
    for length in _lengths(8, 56, 64, 72, 136, 120, 640, 128, 0, every=2):
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
    await host.write("irq_status", CONTROL_PAGE.pack("irq_status", written=1))
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
    for length in _lengths(1, 8, 63, 64, every=3):
        await host.submit(here, send(here, there, content[:length], tag=length))
        message = await host.message(there)
        assert message["source_id"] == NODE_ID
        assert (message["source_vp"], message["length"]) == (here.vp, length)
        assert message["payload"] == int.from_bytes(content[:length], "little")
        assert (await host.completion(here))["status"] == Status.OK
    for length in _lengths(1, 127, 128, 129, 600, every=2):
        host.memory.write(there.window.start + 0x1000, bytes(1024))
        await host.submit(here, put(here, there, length))
        assert (await host.completion(here))["status"] == Status.OK
        assert host.memory.read(there.window.start + 0x1000, 1024) == content[:length] + bytes(1024 - length)
    for length in _lengths(0, 127, 129, 128, 600, 4000, 1, every=2):
        far = rng(f"far {length}").randbytes(length)
        host.memory.write(there.window.start, far)
        host.memory.write(here.window.start + 0x1000, bytes(4096))
        await host.submit(here, get(here, there, length, tag=length))
        completion = await host.completion(here)
        assert (completion["status"], completion["kind"]) == (Status.OK, CplKind.GET)
        assert (completion["tag"], completion["bytes"]) == (length, length)
        assert host.memory.read(here.window.start + 0x1000, 4096) == far + bytes(4096 - length)


@cocotb.test()
async def windows_are_kept(dut):
    """Each right, on either side, at the last byte of a window, one flit beyond it, and over the border to the next."""
    host = await nic(dut)
    a, b = await host.open(0), await host.open(3)
    size = 0x400
    # Further windows of both, from 0x60000 and 0x70000 on: one for each of three rights, all adjacent.
    places = {}
    for port, low in ((a, 0x60000), (b, 0x70000)):
        for index, right in ((1, Right.LOCAL_READ), (2, Right.LOCAL_WRITE), (3, Right.REMOTE_READ)):
            places[port.vp, right] = window = range(low, low + size)
            await host.register(port, index, window, right)
            low += size
    before = rng("windows").randbytes(0x20000)
    host.memory.write(0x60000, before)
    local_read, local_write = places[0, Right.LOCAL_READ], places[0, Right.LOCAL_WRITE]
    far_read, far_write = places[3, Right.REMOTE_READ], b.window
    length = 0x100
    good = {
        "PUT": put(a, b, length, local_addr=local_read.stop - length, remote_addr=far_write.stop - length),
        "GET": get(a, b, length, local_addr=local_write.stop - length, remote_addr=far_read.stop - length),
    }
    bad, far = Status.BAD_ADDRESS, Status.REMOTE_ACCESS
    cases = {
        "PUT of memory to be written": (put(a, b, 8, local_addr=local_write.start), bad),
        "PUT of memory for others": (put(a, b, 8, local_addr=places[0, Right.REMOTE_READ].start), bad),
        "PUT over the border": (put(a, b, length, local_addr=local_read.stop - length + 8), bad),
        "PUT a byte too long": (put(a, b, length + 1, local_addr=local_read.stop - length), bad),
        "GET into memory to be read": (get(a, b, 8, local_addr=local_read.start), bad),
        "GET over the border": (get(a, b, length, local_addr=local_write.stop - length + 8), bad),
        "GET before the window": (get(a, b, length, local_addr=a.window.start - 8), bad),
        "PUT to memory to be read": (put(a, b, 8, remote_addr=far_read.start), far),
        "PUT to memory of the other VP": (put(a, b, 8, remote_addr=places[3, Right.LOCAL_WRITE].start), far),
        "PUT beyond the window": (put(a, b, 128, remote_addr=far_write.stop - 120), far),
        "GET of memory of the other VP": (get(a, b, 8, remote_addr=places[3, Right.LOCAL_READ].start), far),
        "GET a byte too long": (get(a, b, 129, remote_addr=far_read.stop - 128), far),
        "GET before the window of others": (get(a, b, 8, remote_addr=far_read.start - 8), far),
        "GET of a VP that is not there": (get(a, host.port(2), 8, remote_addr=far_read.start), far),
    }
    # None of what is refused may show in the memory that is compared.
    await host.submit(a, good["PUT"])
    assert (await host.completion(a))["status"] == Status.OK
    put_data = host.memory.read(local_read.stop - length, length)
    assert host.memory.read(far_write.stop - length, length) == put_data
    compared = (0x60000, 0x20000), (b.window.start, len(b.window))
    content = [host.memory.read(*place) for place in compared]
    for name, (descriptor, status) in cases.items():
        if "too long" in name and status == far:
            # Its first fragment is allowed and lands.
            descriptor = DESCRIPTOR.pack(**DESCRIPTOR.unpack(descriptor) | {"local_addr": a.window.start})
        await host.submit(a, descriptor)
        completion = await host.completion(a)
        assert completion["status"] == status, (name, completion)
        assert [host.memory.read(*place) for place in compared] == content, name
    await host.submit(a, good["GET"])
    assert (await host.completion(a))["status"] == Status.OK
    assert host.memory.read(local_write.stop - length, length) == host.memory.read(far_read.stop - length, length)
    # Withdrawn while its VP is disabled, which keeps the others.
    await host.write("vp_select", b.vp)
    await host.write("vp_commit", CONTROL_PAGE.pack("vp_commit", keep_windows=1))
    await host.submit(a, good["GET"])
    assert (await host.completion(a))["status"] == far
    await host.register(b, 3, far_read)
    await host.write("vp_commit", CONTROL_PAGE.pack("vp_commit", enable=1, keep_windows=1))
    for descriptor, status in ((good["GET"], far), (good["PUT"], Status.OK)):
        await host.submit(a, descriptor)
        assert (await host.completion(a))["status"] == status


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
        "GET of another's memory": (
            [get(bad, good, 64, remote_addr=bad.window.start)], Status.REMOTE_ACCESS
        ),
        "GET into another's memory": ([get(bad, good, 64, local_addr=outside)], Status.BAD_ADDRESS),
        "receiver that is not there": ([send(bad, host.port(2), b"x")], Status.RECEIVER_NOT_READY),
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
    await host.write("watchdog", 700)
    port = await host.open(1)
    waiting = DESCRIPTOR.unpack(doubling(port, 64)[1]) | {"ch": 1, "operand": Operand.MEMORY}
    await host.submit(port, DESCRIPTOR.pack(**waiting))
    completion = await host.completion(port)
    assert completion["status"] == Status.TIMEOUT
    assert completion["detail"] == 1 << 32, "SeqID 0 of pulse 0 is missing, and nothing else"
    await host.submit(port, get(port, port, 300, dest_id=NODE_ID ^ 1))
    completion = await host.completion(port)
    assert (completion["status"], completion["kind"]) == (Status.TIMEOUT, CplKind.GET)
    assert completion["detail"] == 3, "three fragments of 128 bytes were asked for"
