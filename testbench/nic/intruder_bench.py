"""A whole NIC on a network that also brings what nobody asked for; and jobs that share its offload units."""

from collections import deque

import cocotb
import numpy as np
from amaranth.lib import data
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import Operand, PacketType, Status
from firmware_models.abi.formats import DESCRIPTOR, PACKET_HEADER
from firmware_models.abi.registers import CONTROL_PAGE
from rtl.interface import TraceEvent
from testbench.clock import cycles, start
from testbench.link.link_model import LinkSink, LinkSource
from testbench.nic.host import NicHost, Port
from testbench.nic.nic_bench import NODE_ID, doubling
from testbench.packet import pack_header
from testbench.runner import parameters, report, rng

PEER_ID = 0x777
"""NodeID of a peer that is only played."""


class Network:
    """Brings back what the NIC sends to itself, at once or on `release`; and whatever a test puts in between."""

    def __init__(self, dut: SimHandleBase):
        self.dut = dut
        width = parameters()["data_width"]
        self.flit_bytes = width // 8
        sizes = {"data_width": width, "buffer_flits": parameters()["buffer_flits"]}
        self.source = LinkSource(dut, "rx", **sizes)
        self.sink = LinkSink(dut, "tx", **sizes)
        self.sink.add_callback(self._sent)
        self.rng = rng("network")
        self.holding = False
        self.held: deque[tuple[int, list[int]]] = deque()
        self.credited = 0
        """Credits that the NIC has given to the played peer."""

    def _sent(self, item: tuple[int, list[int]]) -> None:
        vc, words = item
        raw = b"".join(word.to_bytes(self.flit_bytes, "little") for word in words)
        header = PACKET_HEADER.unpack(raw[: PACKET_HEADER.bytes])
        if header["dest_id"] != NODE_ID:
            assert (header["dest_id"], header["type"]) == (PEER_ID, PacketType.CREDIT)
            self.credited += header["credits"]
        elif self.holding:
            self.held.append((vc, words))
        else:
            self.source.append((vc, words))

    def release(self) -> None:
        """Brings back what was held, in another order."""
        self.holding = False
        packets = list(self.held)
        self.held.clear()
        self.rng.shuffle(packets)
        for packet in packets:
            self.source.append(packet)

    def inject(self, payload: bytes = b"", *, vc: int = 0, cut: int = 0, **fields: int) -> None:
        """A packet from outside; `cut` flits are missing at its end."""
        header = {
            "type": PacketType.COLLECTIVE, "version": 1, "dest_id": NODE_ID, "source_id": PEER_ID,
            "length": len(payload), **fields,
        }
        raw = pack_header(**header)
        raw += bytes(-len(raw) % self.flit_bytes) + payload + bytes(-len(payload) % self.flit_bytes)
        words = [
            int.from_bytes(raw[at : at + self.flit_bytes], "little") for at in range(0, len(raw), self.flit_bytes)
        ]
        self.source.append((vc, words[: len(words) - cut]))


async def nic(dut: SimHandleBase, n_ports: int) -> tuple[NicHost, Network, list[Port]]:
    """A NIC that is up, with ports, and the network."""
    host, network = NicHost(dut), Network(dut)
    await start(dut, max_cycles=200_000)
    await host.write("node_id", NODE_ID)
    await host.write("control", CONTROL_PAGE.pack("control", enable=1))
    return host, network, [await host.open(vp) for vp in range(n_ports)]


def waiting(port: Port, job: int) -> bytes:
    """A sequence of one descriptor that adds one packet to its operand."""
    common = DESCRIPTOR.unpack(doubling(port, 64, job_id=job)[1])
    return DESCRIPTOR.pack(**common | {"ch": 1, "operand": Operand.MEMORY})


def result(host: NicHost, port: Port, offset: int = 0) -> np.ndarray:
    """Result that a sequence has written."""
    return np.frombuffer(host.memory.read(port.window.start + 0x2000 + offset, 64), np.float64)


@cocotb.test()
async def intruders_harm_nobody(dut: SimHandleBase) -> None:
    """Malformed packets, wrong nodes, unknown jobs, duplicates: each is counted, and all operations are right."""
    host, network, ports = await nic(dut, 3)
    numbers = np.random.default_rng(rng("data").getrandbits(32))
    stored_port, *busy_ports = ports
    stored = [numbers.standard_normal(8) for _ in range(4)]
    intruders = {
        "rx_malformed": [
            lambda: network.inject(bytes(64), version=2), lambda: network.inject(bytes(64), type=13),
            lambda: network.inject(bytes(64), cut=3), lambda: network.inject(bytes(64), length=56),
            lambda: network.inject(cut=1), lambda: network.inject(bytes(64), multicast=1, mlid=5),
            lambda: network.inject(type=PacketType.CREDIT), lambda: network.inject(vc=1),
        ],
        "rx_wrong_node": [
            lambda: network.inject(bytes(64), dest_id=NODE_ID ^ 1),
            lambda: network.inject(vc=1, type=PacketType.CREDIT, dest_id=0, credits=1),
        ],
        "rx_unknown": [
            lambda: network.inject(bytes(64), dest_vp=parameters()["n_vps"], job_id=41),
            lambda: network.inject(vc=1, type=PacketType.CREDIT, job_id=200, credits=1),
            lambda: network.inject(bytes(8), vc=1, type=PacketType.CREDIT, job_id=201, credits=9),
            lambda: network.inject(vc=1, type=PacketType.ACK, tag=3),
        ],
        "rx_not_joined": [lambda: network.inject(bytes(64), multicast=1, mlid=0xC000, dest_id=9)],
        # Keys of a job whose operation has not begun: the first of each is kept, the others are duplicates.
        "rx_duplicates": [
            lambda pulse=pulse: network.inject(bytes(64), job_id=77, pulse=pulse) for pulse in range(len(stored))
        ],
    }
    for pulse, operand in enumerate(stored):
        network.inject(operand.tobytes(), job_id=77, pulse=pulse, peer=1)
    while await host.counter("buffer_inserts") < len(stored):
        pass
    before = {name: await host.counter(name) for name in intruders}
    assert not any(before.values())

    counts = dict.fromkeys(intruders, 0)
    order = [(name, send) for name, sends in intruders.items() for send in sends * parameters()["times"]]
    network.rng.shuffle(order)
    n_operations = 0
    while order:
        for name, send in [order.pop() for _ in range(min(4, len(order)))]:
            counts[name] += 1
            send()
        for port in busy_ports:
            operand = numbers.standard_normal(8)
            host.memory.write(port.window.start, operand.tobytes())
            await host.submit(port, *doubling(port, 64))
            completion = await host.completion(port)
            assert completion["status"] == Status.OK
            assert np.array_equal(result(host, port), operand + operand)
            n_operations += 1
    await network.source.drain()
    await cycles(dut, 100)
    assert {name: await host.counter(name) for name in intruders} == counts

    # The stored packets are those that came first.
    host.memory.write(stored_port.window.start, bytes(64))
    for operand in stored:
        await host.submit(stored_port, waiting(stored_port, 77))
        assert (await host.completion(stored_port))["status"] == Status.OK
        assert np.array_equal(result(host, stored_port), operand + 0.0)
    while network.credited < len(stored):
        await RisingEdge(dut.clk)
    report(operations=n_operations, intruders=sum(counts.values()))


@cocotb.test()
async def packets_without_credits(dut: SimHandleBase) -> None:
    """Of each job as many packets are taken as its peers have credits, whoever sends them; the others are dropped."""
    host, network, ports = await nic(dut, 2)
    share, beyond, attacked = parameters()["job_credits"], 9, (77, 78)
    stored_port, busy_port = ports
    numbers = np.random.default_rng(rng("data").getrandbits(32))
    operands = [numbers.standard_normal(8) for _ in range(share)]
    for pulse in range(share + beyond):
        for job in attacked:
            payload = operands[pulse].tobytes() if pulse < share else bytes(64)
            network.inject(payload, job_id=job, pulse=pulse, peer=pulse % 16, source_vp=job)
        # One on a shared credit that was never granted.
        network.inject(bytes(64), job_id=79, pulse=pulse, loan=1)
    await network.source.drain()
    await cycles(dut, 200)
    dropped = (len(attacked) + 1) * beyond + share
    assert await host.counter("rx_uncovered") == dropped
    assert await host.counter("buffer_inserts") == len(attacked) * share
    assert await host.counter("rx_unknown") == await host.counter("rx_duplicates") == 0
    # Another job works, on the same link and the same units.
    for _ in range(6):
        operand = numbers.standard_normal(8)
        host.memory.write(busy_port.window.start, operand.tobytes())
        await host.submit(busy_port, *doubling(busy_port, 64))
        assert (await host.completion(busy_port))["status"] == Status.OK
        assert np.array_equal(result(host, busy_port), operand + operand)
    # Each packet that is consumed makes room for one.
    host.memory.write(stored_port.window.start, bytes(64))
    for count, operand in enumerate(operands[:4], 1):
        await host.submit(stored_port, waiting(stored_port, attacked[0]))
        assert (await host.completion(stored_port))["status"] == Status.OK
        assert np.array_equal(result(host, stored_port), operand + 0.0)
        while network.credited < count:
            await RisingEdge(dut.clk)
        for pulse in range(2):
            network.inject(bytes(64), job_id=attacked[0], pulse=100 + 2 * count + pulse)
        await network.source.drain()
        await cycles(dut, 100)
        assert await host.counter("rx_uncovered") == dropped + count


@cocotb.test()
async def refused_jobs_get_nothing(dut: SimHandleBase) -> None:
    """No packet of a job that is refused is taken, and none of its sequences; until it is opened."""
    host, network, (port,) = await nic(dut, 1)

    async def order(job: int, **flags: int) -> dict[str, int]:
        await host.write("job_select", job)
        await host.write("job_control", CONTROL_PAGE["job_control"].pack(**flags))
        return CONTROL_PAGE["job_state"].unpack(await host.read("job_state"))

    host.memory.write(port.window.start, bytes(64))
    network.inject(bytes(64), job_id=50)
    await network.source.drain()
    await cycles(dut, 100)
    assert (await order(50, refuse=1)) == {"kept": 1, "owing": 0, "in_progress": 0, "refused": 0, "closed": 0}
    assert (await order(51, refuse=1)) == {"kept": 0, "owing": 0, "in_progress": 0, "refused": 1, "closed": 1}
    for number in range(5):
        for job in (50, 51):
            network.inject(bytes(64), job_id=job, pulse=1 + number)
    await network.source.drain()
    await cycles(dut, 100)
    assert await host.counter("rx_uncovered") == 5
    assert await host.counter("buffer_inserts") == 6
    await host.submit(port, waiting(port, 51))
    assert (await host.completion(port))["status"] == Status.JOB_CLOSED
    assert (await order(51))["refused"]
    assert not (await order(51, open=1))["refused"]
    operand = np.arange(8.0)
    network.inject(operand.tobytes(), job_id=51)
    await host.submit(port, waiting(port, 51))
    assert (await host.completion(port))["status"] == Status.OK
    assert np.array_equal(result(host, port), operand)
    assert await host.counter("rx_uncovered") == 5


@cocotb.test()
async def first_touch_decides(dut: SimHandleBase) -> None:
    """Jobs that packets touch first go to different units, whatever their numbers; their operations follow them."""
    host, network, ports = await nic(dut, 2)
    units: dict[int, set[int]] = {}

    async def watch() -> None:
        layout = data.StructLayout({"valid": 1, **dict(TraceEvent.members)})
        while True:
            await RisingEdge(dut.clk)
            for unit in range(parameters()["n_cous"]):
                event = layout.from_bits(int(getattr(dut, f"trace__{unit}").value))
                if event.valid:
                    units.setdefault(event.job_id, set()).add(unit)

    cocotb.start_soon(watch())
    for port in ports:
        host.memory.write(port.window.start, bytes(64))
    for step in range(6):
        pulse = step // 2
        jobs = [(64, 128), (128, 64)][step % 2]
        units.clear()
        operand = np.arange(8.0) + step
        # The first job has a packet and no operation, the second one an operation and no packet: in either order.
        touches = [
            lambda: network.inject(operand.tobytes(), job_id=jobs[0], dest_vp=0, pulse=step, peer=1),  # noqa: B023
            lambda: network.inject(operand.tobytes(), job_id=jobs[1], dest_vp=1, pulse=step, peer=1),  # noqa: B023
        ]
        await host.submit(ports[1], waiting(ports[1], jobs[1]))
        touches[0]()
        await cycles(dut, 400)
        await host.submit(ports[0], waiting(ports[0], jobs[0]))
        touches[1]()
        for port in ports:
            assert (await host.completion(port))["status"] == Status.OK, (step, pulse)
            assert np.array_equal(result(host, port), operand)
        assert sorted(len(where) for where in units.values()) == [1, 1], units
        assert set.union(*units.values()) == {0, 1}, units
    assert await host.counter("rx_unknown") == 0


@cocotb.test()
async def more_jobs_than_places(dut: SimHandleBase) -> None:
    """With all entries of all units taken, further sequences wait in their rings; then all of them end well."""
    n_places = parameters()["n_jobs"] * parameters()["n_cous"]
    host, network, ports = await nic(dut, n_places)
    network.holding = True
    operands = []
    for port in ports:
        operands.append(np.arange(8.0) * (port.vp + 1))
        host.memory.write(port.window.start, operands[-1].tobytes())
        for number in range(2):
            await host.submit(port, *doubling(
                port, 64, job_id=8 * (2 * port.vp + number), result_addr=port.window.start + 0x2000 + 0x100 * number,
            ))
    await cycles(dut, 3000)
    assert len(network.held) == n_places, "places that are not used, or used twice"
    network.release()
    for port, operand in zip(ports, operands, strict=True):
        for _ in range(2):
            assert (await host.completion(port))["status"] == Status.OK
        for number in range(2):
            assert np.array_equal(result(host, port, 0x100 * number), operand + operand)
