"""An offload unit with everything around it: job table, host memory, peers that return and grant credits."""

from collections import Counter
from dataclasses import replace

import cocotb
from amaranth.lib import data
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType
from rtl.buffer.buffer_statistics import statistics_layout
from rtl.buffer.packet_buffer import FaultOrder
from rtl.credit.layouts import SHARED_BIT
from rtl.interface import CompletionEvent, JobReport, JobReportKind, SequenceSignature, WindowSignature
from testbench.clock import cycles, start
from testbench.cou.operation_model import NODE_ID, Operation
from testbench.cou.port_memory import PortMemory
from testbench.credit.lending_peers import Receivers, Sender
from testbench.inline import DescriptorSource
from testbench.packet import Packet, PacketSink, PacketSource
from testbench.runner import parameters, rng
from testbench.stream import StreamSink, StreamSource

_MEMORY_BYTES = 1 << 20
_SHAPES = {
    name: member.signature.members["payload"].shape
    for name, member in (*SequenceSignature().members.items(), *WindowSignature().members.items())
}


class Unit:
    """The offload unit with everything around it.

    ``refuse_window`` makes the address check answer "no"; ``returns`` says whether peers give credits back, ``delays``
    after how many cycles.
    """

    def __init__(self, dut):
        width = parameters()["data_width"]
        self.dut = dut
        self.rng = rng("unit")
        self.memory = PortMemory(dut, width, _MEMORY_BYTES, read="memory__read", write="memory__write")
        self.probe = StreamSource(dut, "commands__sequence__probe", _SHAPES["probe"])
        self.answer = StreamSink(dut, "commands__sequence__answer", _SHAPES["answer"])
        self.descriptor = DescriptorSource(
            dut, "commands__sequence__descriptor", _SHAPES["descriptor"], inline="commands__inline_data",
            data_width=width,
        )
        self.rx = [PacketSource(dut, f"rx__{vc}", width) for vc in range(2)]
        callbacks = self._sent, self._came_back
        self.tx = [PacketSink(dut, f"tx__{vc}", width, callback=callback) for vc, callback in enumerate(callbacks)]
        self.rights: list[int] = []
        """Rights that the window queries asked for."""
        self.queries = StreamSink(dut, "memory__window__query", _SHAPES["query"], callback=self._check)
        self.answers = StreamSource(dut, "memory__window__answer", data.StructLayout({"ok": 1}))
        self.events = StreamSink(dut, "o_event", CompletionEvent)
        self.base: Counter[int] = Counter()
        """Number of the next pulse of each job, as the job table keeps it."""
        self.gone: Counter[int] = Counter()
        """Packets that have left the buffer, by JobID."""
        self.busy: set[int] = set()
        self.owing: set[int] = set()
        """Jobs with an operation, and with credits that were out when the last one ended."""
        self.reports = StreamSink(dut, "o_report", JobReport, callback=self._reported)
        self.pool = parameters()["pool"]
        self.receivers = Receivers(share=parameters()["peer_credits"], pool=self.pool, rng=self.rng)
        self.held: Counter[int] = Counter()
        """Packets that keep a job here, as the job table counts them: those that came, less what was reported."""
        self.shared: Counter[int] = Counter()
        """Shared credits of the unit that its peers hold, by JobID."""
        self.granted: Counter[int] = Counter()
        """Those that no packet has come on, and that have not returned, as the job table counts them."""
        self.unknown = 0
        """Shared credits that returned and were not out."""
        self.sender: Sender | None = None
        """Receiver of the unit's CREDIT packets; without one, shared credits return at once."""
        self.refuse_window = False
        self.returns = True
        self.delays = 1, 10, 100

    async def start(self, **limits):
        """Clock, reset, registers."""
        await start(self.dut, **limits)
        self.dut.settings__node_id.value = NODE_ID
        self.dut.settings__watchdog.value = 0
        self.dut.jobs__unused_known.value = 0

    def _check(self, query):
        assert query["bytes"], "no bytes to check"
        self.rights.append(query["right"])
        self.answers.append({"ok": int(not self.refuse_window)})

    def _reported(self, report_):
        """Reports to the job table."""
        job = report_["job_id"]
        match JobReportKind(report_["kind"]):
            case JobReportKind.RETURNED if not self.granted[job]:
                self.unknown += 1
            case JobReportKind.PACKET_LEFT | JobReportKind.RETURNED | JobReportKind.DUPLICATE:
                if report_["kind"] == JobReportKind.RETURNED.value:
                    self.granted[job] -= 1
                    cocotb.start_soon(self._confirm())
                self.gone[job] += 1
                self.held[job] -= 1
                assert self.held[job] >= self.shared[job], "loans are out, and the job seems to be at rest"
            case JobReportKind.ENDED:
                assert job in self.busy, "the end of an operation that was not let in"
                self.busy.remove(job)
                self.base[job] += report_["pulses"]
                self.owing.discard(job)
                if report_["owing"]:
                    self.owing.add(job)
            case JobReportKind.SETTLED:
                assert job in self.owing, "settled without a debt"
                self.owing.remove(job)

    async def _confirm(self):
        """The job table knows the shared credit that has returned."""
        self.dut.jobs__unused_known.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.jobs__unused_known.value = 0

    def arrives(self, packet: Packet, **header: int):
        """A packet comes to the unit; its header may say more."""
        self.granted[packet.header["job_id"]] -= header.get("loan", 0)
        self.held[packet.header["job_id"]] += 1
        self.rx[0].append(replace(packet, header=dict(packet.header) | header))

    def _sent(self, packet: Packet):
        """The receiver of a packet gives its credit back, some time later."""
        self.receivers.arrives(packet.header)
        if self.returns:
            cocotb.start_soon(self._give_back(packet))

    async def _give_back(self, packet: Packet):
        await cycles(self.dut, self.rng.choice(self.delays))
        self.give_back(packet)

    def give_back(self, packet: Packet):
        """The receiver of a packet has consumed it."""
        self.credit(**self.receivers.consume(packet.header))

    def credit(self, **header: int):
        """A CREDIT packet comes."""
        self.rx[1].append(Packet.make(**{
            "type": PacketType.CREDIT, "version": formats.PACKET_VERSION, "dest_id": NODE_ID, **header,
        }))

    def _came_back(self, packet: Packet):
        """A CREDIT packet of the unit: for a consumed packet, or with a shared credit that it returns unused."""
        job = packet.header["job_id"]
        if not packet.header["credits"]:
            self.receivers.comes_back(packet.header)
            return
        self.shared[job] += packet.header["loan"]
        self.granted[job] += packet.header["loan"]
        if self.sender is not None:
            self.shared[job] -= packet.header["tag"] >> SHARED_BIT
            self.sender.credit(packet.header)
        elif packet.header["loan"]:
            cocotb.start_soon(self._no_need(job))

    async def _no_need(self, job: int):
        await cycles(self.dut, self.rng.choice((1, 10, 100)))
        self.return_loan(job)

    def return_loan(self, job: int):
        """A peer returns a shared credit to the unit."""
        self.shared[job] -= 1
        self.credit(job_id=job, loan=1)

    def figures(self):
        """Counters of the packet buffer."""
        return statistics_layout((parameters()["n_slots"] - 1).bit_length() + 1).from_bits(
            int(self.dut.status__statistics.value)
        )

    async def spoil(self, target: int, bits: int):
        """The next write of a tag (1), header (2) or payload (3) has errors somewhere in its first 64 bits."""
        order = {"memory": target, "errors": bits, "first_bit": self.rng.randrange(63)}
        self.dut.settings__fault.value, self.dut.settings__arm.value = FaultOrder.const(order).as_bits(), 1
        await RisingEdge(self.dut.clk)
        self.dut.settings__arm.value = 0

    async def submit(self, operation: Operation):
        """Offers a sequence until there is room for it, and sends it."""
        while True:
            if operation.job_id not in self.busy:
                self.busy.add(operation.job_id)
                base = self.base[operation.job_id] % (1 << formats.PULSE_BITS)
                await self.probe.send({"job_id": operation.job_id, "base_pulse": base}, sync=True)
                if (await self.answer.receive())["ok"]:
                    break
            await cycles(self.dut, 20)
        for index, desc in enumerate(operation.descriptors):
            last = index == len(operation.descriptors) - 1
            bits = formats.DESCRIPTOR.to_int(desc)
            self.descriptor.append({"desc": bits, "last": int(last), "abort": 0})
        await self.descriptor.drain()
