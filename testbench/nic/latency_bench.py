"""Cycles from one event to the next in a whole NIC that has nothing else to do.

Nothing pauses: host memory answers as fast as its model can, the link's other end takes every flit at once. So the
figures are properties of the RTL, and the same in every run.
"""

import logging
from collections.abc import Sequence
from typing import Any

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from firmware_models.abi import formats
from firmware_models.abi.encoding import Kind, Operand, P2pOp, PacketType
from firmware_models.abi.formats import DESCRIPTOR, PACKET_HEADER
from firmware_models.abi.registers import CONTROL_PAGE
from firmware_models.host import PortSteps, RingBases, Rings
from rtl.interface import flit
from testbench.clock import cycles, start
from testbench.codec import decoder
from testbench.dma.memory import AxiMemory
from testbench.host import BenchHost
from testbench.link.link_model import LinkSink, LinkSource
from testbench.runner import parameters, report

NODE, PEER, VP, JOB = 1, 2, 1, 0
RING, QUEUE, WINDOW, RESULT = 0x1000, 0x3000, 0x10000, 0x18000
RING_LOG2 = 6
MEMORY_BYTES = 1 << 17

STAGES = (
    ("header's first flit at the link", "rx__valid", 0),
    ("last flit at the link", "rx__valid", -1),
    ("whole packet out of the depacketizer", "receive_0.depacketizer.o__header__valid", 0),
    ("header into the packet buffer", "cou_0.core.buffer.i__header__valid", 0),
    ("packet announced", "cou_0.core.buffer.packets__arrival__valid", 0),
    ("packet valid in the buffer", "cou_0.core.buffer.packets__arrival__valid", -1),
    ("what is to be done is planned", "cou_0.core.trigger.planning.o__valid", 0),
    ("credit asked", "cou_0.core.trigger.credits__ask__request__valid", 0),
    ("descriptor fires", "cou_0.core.trigger.fired", 0),
    ("first operands into the reduce unit", "cou_0.core.aggregator.reduce.i__valid", 0),
    ("first result out of it", "cou_0.core.aggregator.reduce.o__valid", 0),
    ("result's header at the packetizer", "transmit_0.packetizer.i__header__valid", 0),
    ("first flit at the link", "tx__valid", 0),
)
"""Stages of a packet that is combined with an operand and sent on: name, signal that says so, which of its cycles."""
DATA_FLITS = "flits of channel 0 at the link"
"""Channel 1 carries the credit of the packet, which mixes with the result."""
RESULT_FLIT = "first flit of the sum at the link"
DOORBELL_STAGES = (
    ("doorbell at the register bus", "s_axil__wvalid"),
    ("descriptor's address at the memory bus", "m_axi__arvalid"),
    ("descriptor's first beat", "m_axi__rvalid"),
    ("descriptor handed to the unit", "descriptor_queue.cou__0__descriptor__valid"),
    ("operation in the unit's table", "cou_0.core.operations.i__valid"),
    ("pulse offered to the trigger", "cou_0.core.trigger.i_start__valid"),
    ("operand asked", "cou_0.core.trigger.operands__load__request__valid"),
    ("operand on chip", "cou_0.core.trigger.operands__loaded__valid"),
    ("descriptor fires", "cou_0.core.trigger.fired"),
    ("header at the packetizer", "transmit_0.packetizer.i__header__valid"),
    ("first flit at the link", "tx__valid"),
)
"""Stages of a collective whose operand travels in its descriptor."""


class Probe:
    """Notes the cycles in which signals are high."""

    def __init__(self, dut: SimHandleBase):
        self.dut = dut
        self.cycle = 0
        self._decode = decoder(flit(parameters()["data_width"]))
        self.seen: dict[str, list[int]] = {}
        self._signals: dict[str, Any] = {}
        for name in dict.fromkeys((*(path for _, path, _ in STAGES), *(path for _, path in DOORBELL_STAGES))):
            handle = dut
            for part in name.split("."):
                handle = getattr(handle, part)
            self._signals[name] = handle
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.cycle += 1
            for name, handle in self._signals.items():
                if int(handle.value):
                    self.seen.setdefault(name, []).append(self.cycle)
            if int(self._signals["tx__valid"].value) and not self._decode(int(self.dut.tx__flit.value))["vc"]:
                self.seen.setdefault(DATA_FLITS, []).append(self.cycle)

    def clear(self) -> None:
        """Forgets everything."""
        self.seen.clear()

    def first(self, name: str) -> int:
        """First cycle in which a signal was high."""
        return self.seen[name][0]

    def last(self, name: str) -> int:
        """Last one."""
        return self.seen[name][-1]


class Unloaded(BenchHost):
    """The NIC with its host and the far end of its link."""

    def __init__(self, dut: SimHandleBase):
        axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil_"), dut.clk, dut.rst)
        for part in (axil.write_if, axil.read_if):
            part.log.setLevel(logging.WARNING)
        super().__init__(dut, axil, AxiMemory(dut, "", size=MEMORY_BYTES, idle=0))
        self.width, self.mtu = parameters()["data_width"], parameters()["mtu"]
        flits = parameters()["buffer_flits"]
        self.port = PortSteps(
            VP, self.shared, sizes=Rings(dq_log2=RING_LOG2, cq_log2=RING_LOG2, rq_log2=0),
            bases=RingBases(dq=RING, cq=QUEUE, rq=0),
        )
        self.source = LinkSource(dut, "rx", data_width=self.width, buffer_flits=flits, idle=0)
        self.sink = LinkSink(dut, "tx", data_width=self.width, buffer_flits=flits, stall=0, hold=0)
        self.probe = Probe(dut)
        self._pulse = 0

    async def start(self) -> None:
        """Reset, registers, one VP; waits until the memories have been swept."""
        await start(self.dut, max_cycles=400_000)
        await self.write("node_id", NODE)
        await self.write("control", CONTROL_PAGE.pack("control", enable=1))
        await self.carry_out(self.port.enable(WINDOW, MEMORY_BYTES))
        await cycles(self.dut, parameters()["sweep_cycles"])
        self.memory.write(WINDOW, bytes(range(256)) * 64)

    async def post(self, **fields: int) -> None:
        """One descriptor, and the doorbell."""
        await self.submit(self.port, DESCRIPTOR.pack(source_vp=VP, **fields))

    async def completed(self) -> None:
        """Waits for the completion of the last operation; returns its entry and its credit."""
        entry = await self.completion(self.port)
        assert entry["status"] == 0, f"status {entry['status']}"
        self.send(type=PacketType.CREDIT, job_id=JOB, peer=0, credits=1, vc=1)
        await cycles(self.dut, 100)

    def send(self, payload: bytes = b"", *, vc: int = 0, **header: int) -> None:
        """A packet for the NIC."""
        packed = PACKET_HEADER.pack(
            version=formats.PACKET_VERSION, dest_id=NODE, dest_vp=VP, source_id=PEER, source_vp=VP, length=len(payload),
            **header,
        )
        size = self.width // 8
        data = b"".join(part.ljust(-(-len(part) // size) * size, b"\0") for part in (packed, payload))
        self.source.append((vc, [int.from_bytes(data[at:at + size], "little") for at in range(0, len(data), size)]))

    def collective(self, length: int, packets: int, **fields: int) -> dict[str, int]:
        """A sequence of one descriptor that combines packets with its operand."""
        return {
            "kind": Kind.RDMA if length else Kind.MP, "c": 1, "ch": 1, "ct": 1, "job_id": JOB, "length": length,
            "pulse_bytes": self.mtu, "operand": Operand.MEMORY if length else Operand.NONE, "local_addr": WINDOW,
            "result_addr": RESULT, "cp_count": packets, "reduce_flag": int(length > 0), "dest_id": PEER, "dest_vp": VP,
            **fields,
        }

    async def pass_through(self, length: int, order: Sequence[int] = (0,), **fields: int) -> None:
        """An operation that waits, its operand on chip; then its packets, the last one alone: the probe sees that."""
        await self.post(**self.collective(length, len(order), **fields))
        await cycles(self.dut, 400)
        for number, seq_id in enumerate(order):
            if number == len(order) - 1:
                self.probe.clear()
            self.send(bytes(length), type=PacketType.COLLECTIVE, job_id=JOB, peer=0, seq_id=seq_id, pulse=self._pulse)
            if number < len(order) - 1:
                await cycles(self.dut, 300)
        self._pulse += 1
        await cycles(self.dut, 200 + 4 * self.mtu // (self.width // 8))


def trigger(probe: Probe) -> int:
    """From the packet's being valid in the buffer to the descriptor's firing."""
    return probe.last("cou_0.core.trigger.fired") - probe.last("cou_0.core.buffer.packets__arrival__valid")


@cocotb.test()
async def latencies(dut: SimHandleBase) -> None:
    """Measures everything once."""
    unit = Unloaded(dut)
    await unit.start()
    probe = unit.probe

    header_flits = max(1, 8 * PACKET_HEADER.bytes // unit.width)
    hops = []
    for length in parameters()["sizes"]:
        await unit.pass_through(length, cp=1)
        places = {}
        for name, path, which in STAGES:
            places[name] = probe.seen[path][which]
        places[RESULT_FLIT] = probe.seen[DATA_FLITS][header_flits]
        begin = places[STAGES[0][0]]
        hops.append({
            "bytes": length, "hop_cycles": places[RESULT_FLIT] - begin,
            "header_hop_cycles": probe.first("tx__valid") - begin, "trigger_cycles": trigger(probe),
            "after_last_flit_cycles": places[RESULT_FLIT] - places["last flit at the link"],
            "stages": {name: cycle - begin for name, cycle in places.items()},
        })
        await unit.completed()

    triggers = {}
    for name, length, order, fields in (
        ("packet triggers, a packet leaves", 0, (0,), {"cp": 1}),
        ("packet is added, the sum leaves", 8, (0,), {"cp": 1}),
        ("packet is added, the sum is written", 8, (0,), {"write_back": 1}),
        ("the last of four packets, the others there", 8, (0, 1, 2, 3), {"cp": 1}),
        ("the first of two packets, the other there", 8, (1, 0), {"cp": 1}),
        ("the first of four packets, the others there", 8, (1, 2, 3, 0), {"cp": 1}),
    ):
        await unit.pass_through(length, order, **fields)
        triggers[name] = trigger(probe)
        await unit.completed()

    doorbells = {}
    mini = {"kind": Kind.MP, "operand": Operand.PAYLOAD, "local_addr": 0, "cp": 1}
    messages = (
        ("mini packet of 8 bytes", {"p2p_op": P2pOp.SEND, "dest_id": PEER, "dest_vp": VP, "length": 8}),
        ("put of 8 bytes", {
            "kind": Kind.RDMA, "p2p_op": P2pOp.PUT, "dest_id": PEER, "dest_vp": VP, "length": 8, "local_addr": WINDOW,
            "remote_addr": 64,
        }),
    )
    for name, fields in (
        ("collective, 8 bytes in the descriptor", unit.collective(8, 0, **mini, reduce_flag=0)),
        ("collective, 64 bytes in the descriptor", unit.collective(64, 0, **mini, reduce_flag=0)),
        ("collective without data", unit.collective(0, 0, cp=1)),
        ("collective, 8 bytes from memory", unit.collective(8, 0, cp=1, reduce_flag=0)),
        *(messages if parameters()["p2p"] else ()),
    ):
        probe.clear()
        await unit.post(**fields)
        while "tx__valid" not in probe.seen:
            await RisingEdge(dut.clk)
        await cycles(dut, 20)
        doorbells[name] = {
            "cycles": probe.first("tx__valid") - probe.first("s_axil__wvalid"),
            "memory_reads": 1 + sum(
                b > a + 1 for a, b in zip(probe.seen["m_axi__arvalid"], probe.seen["m_axi__arvalid"][1:], strict=False)
            ),
            "memory_cycles": probe.first("m_axi__rvalid") - probe.first("m_axi__arvalid"),
            "stages": {
                stage: probe.first(path) - probe.first("s_axil__wvalid")
                for stage, path in DOORBELL_STAGES if path in probe.seen
            },
        }
        if fields.get("c"):
            await unit.completed()
            unit._pulse += 1
        else:
            # The far end answers nothing: the operation stays open, and nobody waits for it.
            await cycles(dut, 100)
    report(hops=hops, triggers=triggers, doorbells=doorbells)
