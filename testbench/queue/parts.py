"""The queues as the NIC composes them, around stand-ins for the other blocks."""

from amaranth import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi.encoding import Datatype, Operator
from firmware_models.abi.registers import ADDRESS_BITS
from firmware_models.config import load_preset
from rtl.abi import DescriptorControl
from rtl.interface import (
    CompletionEvent,
    P2pPortSignature,
    PlacementSignature,
    ReadSignature,
    ReceiveSlotSignature,
    SequenceSignature,
    WindowSignature,
    WriteSignature,
    inline_layout,
)
from rtl.kit.axi_lite import AxiLiteSignature
from rtl.nic.csr import RegisterFile
from rtl.queue.completion_queue import CompletionQueue
from rtl.queue.descriptor_queue import DescriptorQueue
from rtl.queue.vp_table import VpTable

CONFIG = load_preset("small").changed(datapath={"mtu": 256}, cou={"intermediate_bytes": 2048})
DATA_WIDTH = CONFIG.datapath.data_width
N_VPS = CONFIG.nic.n_vps
N_COUS = CONFIG.nic.n_cous
SUPPORTED = ((Datatype.FLOAT64, Operator.SUM), (Datatype.INT32, Operator.XOR), (Datatype.DOUBLE_INT, Operator.MINLOC))
N_CLIENTS = 2
BATCH = 4
RETRY_CYCLES = 200
"""Longer than a turn takes, so that the bench can tell a pause from a slow turn."""
FIRST_INDEX = (1 << 16) - 21
"""Not 0: every ring passes the wrap of its indexes soon."""
P2pDescriptor = data.StructLayout({"desc": DescriptorControl})


class QueueSystem(wiring.Component):
    """Register file, VP table, descriptor queue and completion queue, connected."""

    def __init__(self, *, address_bits: int = 64):
        self.config = CONFIG.changed(nic={"address_bits": address_bits})
        super().__init__({
            "bus": In(AxiLiteSignature(address_bits=ADDRESS_BITS)),
            "irq": Out(1),
            "read": Out(ReadSignature(DATA_WIDTH)),
            "write": Out(WriteSignature(DATA_WIDTH)),
            "placement": Out(PlacementSignature()),
            "cou": Out(SequenceSignature()).array(N_COUS),
            "p2p": Out(P2pPortSignature()),
            "inline_data": Out(inline_layout(DATA_WIDTH)),
            "i_event": In(stream.Signature(CompletionEvent)).array(N_COUS + 1),
            "windows": In(WindowSignature()).array(N_CLIENTS),
            "receive": In(ReceiveSlotSignature()),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.csr = csr = RegisterFile(self.config)
        m.submodules.table = table = VpTable(
            n_vps=N_VPS, data_width=DATA_WIDTH, n_windows=CONFIG.nic.n_windows, n_clients=N_CLIENTS + 1,
            retry_cycles=RETRY_CYCLES, first_index=FIRST_INDEX, address_bits=self.config.nic.address_bits,
            batch=BATCH,
        )
        m.submodules.descriptors = descriptors = DescriptorQueue(
            data_width=DATA_WIDTH, mtu=CONFIG.datapath.mtu, n_peers=CONFIG.cou.n_peers, n_blocks=CONFIG.cou.n_blocks,
            intermediate_bytes=CONFIG.cou.intermediate_bytes, n_cous=N_COUS,
            sequence_depth=CONFIG.cou.sequence_depth, supported=SUPPORTED, batch=BATCH,
            address_bits=self.config.nic.address_bits,
        )
        m.submodules.completions = completions = CompletionQueue(n=N_COUS + 2, data_width=DATA_WIDTH)
        connect(m, flipped(self.bus), csr.bus)
        connect(m, csr.vps.commit, table.commit)
        connect(m, csr.vps.doorbell, table.doorbell)
        connect(m, csr.vps.window, table.window)
        connect(m, table.turn, descriptors.turn)
        connect(m, descriptors.window, table.windows[N_CLIENTS])
        connect(m, completions.slot, table.completion)
        connect(m, descriptors.o_event, completions.i[N_COUS + 1])
        connect(m, flipped(self.receive), table.receive)
        connect(m, flipped(self.read), descriptors.read)
        connect(m, flipped(self.write), completions.write)
        connect(m, flipped(self.p2p), descriptors.p2p)
        connect(m, flipped(self.placement), descriptors.placement)
        for k in range(N_COUS):
            connect(m, flipped(self.cou[k]), descriptors.cou[k])
        for k in range(N_COUS + 1):
            connect(m, flipped(self.i_event[k]), completions.i[k])
        for k in range(N_CLIENTS):
            connect(m, flipped(self.windows[k]), table.windows[k])
        m.d.comb += [
            table.enable.eq(csr.settings.enable), table.retry_limit.eq(csr.settings.retry_limit),
            table.cycles.eq(csr.cycles),
            completions.cycles.eq(csr.cycles),
            csr.notify.eq(completions.written),
            csr.busy.eq(table.busy | completions.busy),
            csr.events.descriptors.eq(descriptors.consumed),
            csr.events.completions.eq(completions.posted),
            csr.events.completion_errors.eq(completions.posted_error),
            self.irq.eq(csr.irq), self.inline_data.eq(descriptors.inline_data),
        ]
        return m
