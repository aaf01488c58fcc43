# amaranth: UnusedElaboratable=no
"""The NIC: composition of its blocks.

Architecture: ``docs/architecture.md``.
"""

from amaranth import Cat, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import registers
from firmware_models.config import Config
from rtl.cou.offload_unit import OffloadUnit
from rtl.credit.credit_watcher import CreditWatcher
from rtl.dma.axi4 import Axi4Signature
from rtl.dma.engine import DmaEngine
from rtl.interface import LinkSignature, TraceEvent
from rtl.kit.axi_lite import AxiLiteSignature
from rtl.kit.index import index_bits
from rtl.kit.library import shared
from rtl.link.link_layer import LINK_EVENTS, LinkStatus, connect_unmarked, link_layer, state_of
from rtl.link.link_rx import LinkRx
from rtl.link.link_tx import LinkTx
from rtl.link.wire import WireSignature
from rtl.nic.csr import RegisterFile
from rtl.nic.event_sums import EventSums
from rtl.nic.job_orders import JobOrders
from rtl.nic.job_table import JobTable
from rtl.nic.receive_path import ReceivePath
from rtl.nic.transmit_path import TransmitPath
from rtl.nic.unit_figures import UnitFigures
from rtl.p2p.p2p import P2p
from rtl.queue.completion_queue import CompletionQueue
from rtl.queue.descriptor_queue import DescriptorQueue
from rtl.queue.vp_table import VpTable
from rtl.reduce.operation import operations

SHARED_UNIT = "conic_offload_unit"
"""Name of the module that all offload units are instances of."""


class Nic(wiring.Component):
    """A network interface with collective offload.

    Everything driven at its boundary is a function of registers, so that NICs, switches and memories can be
    simulated apart and exchange values once a cycle.

    Parameters
    ----------
    config : Config
        The configuration.

    Members
    -------
    s_axil : ``In(AxiLiteSignature(address_bits=24))``
        Registers and doorbells.
    m_axi : ``Out(Axi4Signature)``
        Host memory.
    tx, rx : ``Out(LinkSignature)``, ``In(LinkSignature)``
        The network; with ``link.reliable`` the wire: ``Out(WireSignature)``, ``In(WireSignature)``.
    link_status : ``Out(LinkStatus)``
        With ``link.reliable``: see :class:`rtl.link.link_layer.LinkLayer`.
    irq : ``Out(1)``
        A completion or a receive entry has been written.
    trace : array of n_cous ``Out({valid, event, job_id, pulse, index})``
        What the offload units are doing, for timelines.
    """

    def __init__(self, config: Config):
        self.config = config
        width = config.datapath.data_width
        self.trace_layout = data.StructLayout({"valid": 1, **dict(TraceEvent.members)})
        super().__init__({
            "s_axil": In(AxiLiteSignature(address_bits=registers.ADDRESS_BITS)),
            "m_axi": Out(Axi4Signature(data_width=width, id_width=1)),
            "tx": Out(WireSignature(width) if config.link.reliable else LinkSignature(width)),
            "rx": In(WireSignature(width) if config.link.reliable else LinkSignature(width)),
            **({"link_status": Out(LinkStatus)} if config.link.reliable else {}),
            "irq": Out(1),
            "trace": Out(self.trace_layout).array(config.nic.n_cous),
        })

    def elaborate(self, platform):
        m = Module()
        self._units(m, platform)
        self._connect_host(m)
        self._connect_units(m)
        groups = self._connect_network(m)
        self._connect_registers(m, groups)
        return m

    def _units(self, m: Module, platform) -> None:
        """The blocks between host and network."""
        config = self.config
        n_cous, width = config.nic.n_cous, config.datapath.data_width
        cous = [OffloadUnit(config) for _ in range(n_cous)]
        p2p = [P2p(config)] if config.nic.p2p else []  # one, or none: all that is connected to it goes with it
        queue = DescriptorQueue(
            data_width=width, mtu=config.datapath.mtu, n_peers=config.cou.n_peers, n_blocks=config.cou.n_blocks,
            intermediate_bytes=config.cou.intermediate_bytes, n_cous=n_cous,
            sequence_depth=config.cou.sequence_depth, supported=operations(config.reduce),
            p2p=config.nic.p2p, get=config.nic.get, address_bits=config.nic.address_bits, batch=config.nic.fetch_batch,
        )
        # Clients that ask for windows, read and write host memory and report events, in the order of ports. GETs of
        # other nodes, and data that GETs of this node bring, have clients of their own, so that answers wait for no
        # request.
        units = (*cous, *p2p, queue)
        completions = CompletionQueue(n=len(units), data_width=width)
        memories = [cou.memory for cou in cous]
        windows, reads = [unit.window for unit in (*memories, *p2p, queue)], [
            unit.read for unit in (*memories, *p2p, queue)
        ]
        writes = [unit.write for unit in (*memories, *p2p, completions)]
        if config.nic.get:
            windows += [p2p[0].get.read_window, p2p[0].get.write_window]
            reads.append(p2p[0].get.read)
            writes.append(p2p[0].get.write)
        dma = DmaEngine(
            n_readers=len(reads), n_writers=len(writes), data_width=width, max_burst_beats=config.nic.max_burst_beats,
            max_outstanding_reads=config.nic.reads_under_way, read_buffer_beats=config.nic.read_ahead_beats,
            address_bits=config.nic.address_bits, block_memories=config.datapath.block_memories,
        )
        vp_table = VpTable(
            n_vps=config.nic.n_vps, data_width=width, n_windows=config.nic.n_windows, n_clients=len(windows),
            address_bits=config.nic.address_bits, batch=config.nic.fetch_batch,
        )
        m.submodules.csr = csr = RegisterFile(config)
        m.submodules.vp_table = vp_table
        m.submodules.descriptor_queue = queue
        m.submodules.completion_queue = completions
        m.submodules.dma = dma
        for block in p2p:
            m.submodules.p2p = block
        for index, cou in enumerate(cous):
            m.submodules[f"cou_{index}"] = shared(SHARED_UNIT, cou, platform)

        # Room for the packets of a job at its unit: the buffer, what is on the way to it, and shared credits.
        m.submodules.job_table = job_table = JobTable(
            n_units=n_cous, n_packets=config.buffer_slots + 8 + config.pool_packets,
            level_bits=index_bits(config.buffer_slots) + 1, pool=config.pool_packets,
            n_credits=config.cou.n_peers * config.cou.peer_credits,
        )

        self.csr, self.vp_table, self.queue, self.completions, self.dma = csr, vp_table, queue, completions, dma
        self.p2p, self.cous, self.job_table = p2p, cous, job_table
        self.windows, self.reads, self.writes = windows, reads, writes

    def _connect_host(self, m: Module) -> None:
        """Registers and doorbells, the rings that they tell of, and host memory."""
        csr, vp_table, completions = self.csr, self.vp_table, self.completions
        connect(m, flipped(self.s_axil), csr.bus)
        connect(m, csr.vps.commit, vp_table.commit)
        connect(m, csr.vps.doorbell, vp_table.doorbell)
        connect(m, csr.vps.window, vp_table.window)
        connect(m, self.dma.m_axi, flipped(self.m_axi))
        m.d.comb += [
            vp_table.enable.eq(csr.settings.enable), vp_table.retry_limit.eq(csr.settings.retry_limit),
            vp_table.cycles.eq(csr.cycles),
        ]
        m.d.comb += [completions.cycles.eq(csr.cycles), self.irq.eq(csr.irq)]

    def _connect_units(self, m: Module) -> None:
        """Descriptors to the units, events back; their windows and their ways to host memory."""
        vp_table, queue, cous, completions = self.vp_table, self.queue, self.cous, self.completions
        connect(m, vp_table.turn, queue.turn)
        connect(m, completions.slot, vp_table.completion)
        connect(m, queue.placement, self.job_table.sequence)
        for p2p in self.p2p:
            connect(m, queue.p2p, p2p.port)
            connect(m, p2p.receive_slot, vp_table.receive)
        m.d.comb += [unit.inline_data.eq(queue.inline_data) for unit in (*(cou.commands for cou in cous), *self.p2p)]
        windows = list(zip(self.windows, vp_table.windows, strict=True))
        reads = list(zip(self.reads, self.dma.i_read, strict=True))
        writes = list(zip(self.writes, self.dma.i_write, strict=True))
        events = [(unit.o_event, port) for unit, port in zip((*cous, *self.p2p, queue), completions.i, strict=True)]
        n_units = len(events)
        for client, port in (*windows[n_units:], *reads[n_units:], *writes[n_units:]):
            connect(m, client, port)
        for index, unit in enumerate(cous):
            connect(m, queue.cou[index], unit.commands.sequence)
            connect(m, unit.o_report, self.job_table.reports[index])
            m.d.comb += self.job_table.levels[index].eq(unit.status.statistics.level)
        for pairs in zip(windows[:n_units], reads[:n_units], events, strict=True):
            for client, port in pairs:
                connect(m, client, port)
        for client, port in writes[:n_units]:
            connect(m, client, port)

    def _connect_network(self, m: Module):
        """The network, a path each way for each virtual channel. Gives the registers' way to the groups."""
        config, csr, cous, job_table = self.config, self.csr, self.cous, self.job_table
        units, width = (*cous, *self.p2p), config.datapath.data_width
        m.submodules.link_tx = link_tx = LinkTx(data_width=width, buffer_flits=config.link.buffer_flits)
        m.submodules.link_rx = link_rx = LinkRx(
            data_width=width, buffer_flits=config.link.buffer_flits, marked=config.link.reliable,
        )
        if config.link.reliable:
            m.submodules.link_layer = layer = link_layer(config, marked=False)
            connect_unmarked(m, link_tx.link, layer.i)
            connect(m, layer.o, link_rx.link)
            connect(m, layer.tx, flipped(self.tx))
            connect(m, flipped(self.rx), layer.rx)
            m.d.comb += self.link_status.eq(layer.status)
            m.d.comb += csr.link.eq(state_of(layer.status))
        else:
            connect(m, link_tx.link, flipped(self.tx))
            connect(m, flipped(self.rx), link_rx.link)
        paths = []
        for vc in range(config.link.n_vcs):
            m.submodules[f"transmit_{vc}"] = out = TransmitPath(data_width=width, n_units=len(units))
            m.submodules[f"receive_{vc}"] = into = ReceivePath(config, vc=vc)
            connect(m, out.o, link_tx.i[vc])
            connect(m, link_rx.o[vc], into.i)
            connect(m, into.placement, (job_table.packet, job_table.credit)[vc])
            for index, unit in enumerate(units):
                connect(m, unit.tx[vc], out.i[index])
                connect(m, into.o[index], unit.rx[vc])
            m.d.comb += into.node_id.eq(csr.settings.node_id)
            paths.append((out, into))
        m.submodules.credit_watcher = watcher = CreditWatcher()
        credit_path = paths[1][0]
        m.d.comb += [
            watcher.valid.eq(credit_path.offered), watcher.header.eq(credit_path.header),
            job_table.given_valid.eq(watcher.given_valid), job_table.given.eq(watcher.given),
        ]
        counts = [into.counts for _, into in paths]
        self._pulses = {
            "tx_packets": [out.sent for out, _ in paths], "rx_packets": [count.received for count in counts],
            "rx_malformed": [pulse for count in counts for pulse in (count.malformed, count.misplaced)],
            "rx_wrong_node": [count.wrong_node for count in counts],
            "rx_unknown": [
                *(p2p.counts.unknown for p2p in self.p2p), job_table.unknown, *(count.unknown for count in counts),
            ],
            "rx_forged": [p2p.counts.forged for p2p in self.p2p],
            "rx_uncovered": [count.uncovered for count in counts],
            "rx_not_joined": [counts[0].not_joined],
            "tx_lost": list(layer.status.lost) if config.link.reliable else [],
            **{f"link_{name}": [layer.status[name]] if config.link.reliable else [] for name in LINK_EVENTS},
        }
        return paths[0][1].groups

    def _connect_registers(self, m: Module, groups) -> None:
        """Settings from the registers, status to them; counters and traces."""
        csr, vp_table, queue, completions = self.csr, self.vp_table, self.queue, self.completions
        cous = self.cous
        connect(m, csr.groups, groups)
        m.submodules.job_orders = orders = JobOrders(n_units=len(cous))
        connect(m, csr.jobs.order, orders.i)
        connect(m, orders.order, self.job_table.order)
        connect(m, self.job_table.standing, orders.i_standing)
        connect(m, orders.o_standing, csr.jobs.standing)
        for index, unit in enumerate(cous):
            event = unit.status.trace
            connect(m, orders.units[index], unit.jobs)
            m.d.comb += [
                orders.unused_known[index].eq(self.job_table.returned[index]),
                unit.settings.node_id.eq(csr.settings.node_id), unit.settings.watchdog.eq(csr.settings.watchdog),
                self.trace[index].valid.eq(event.valid),
                [self.trace[index][name].eq(event.payload[name]) for name in TraceEvent.members],
            ]
        m.submodules.unit_figures = figures = UnitFigures(
            n_cous=self.config.nic.n_cous, level_bits=index_bits(self.config.buffer_slots) + 1
        )
        connect(m, csr.unit, figures.view)
        for index, unit in enumerate(cous):
            m.d.comb += [
                figures.states[index].eq(unit.status.state), figures.statistics[index].eq(unit.status.statistics),
                unit.settings.fault.eq(figures.fault), unit.settings.arm.eq(figures.arm[index]),
            ]
        for p2p in self.p2p:
            m.d.comb += [
                p2p.node_id.eq(csr.settings.node_id), p2p.time.watchdog.eq(csr.settings.watchdog),
                p2p.time.cycles.eq(csr.cycles), p2p.answer_key.eq(csr.settings.answer_key),
            ]
        m.d.comb += [
            csr.busy.eq(Cat(vp_table.busy, completions.busy, *(unit.busy for unit in (
                *(cou.status for cou in cous), *self.p2p
            )))),
            csr.notify.eq(Cat(completions.written, *(p2p.counts.delivered for p2p in self.p2p))),
        ]
        counts = [unit.status.counts for unit in cous]
        events = {
            "descriptors": [queue.consumed], "completions": [completions.posted],
            "completion_errors": [completions.posted_error], "trigger_fires": [unit.fired for unit in counts],
            "buffer_inserts": [unit.inserted for unit in counts], "rx_duplicates": [unit.duplicate for unit in counts],
            "loans_granted": [unit.shared_granted for unit in counts],
            "loans_unused": [unit.shared_unused for unit in counts], "rx_closed": [unit.dropped for unit in counts],
            **self._pulses,
        }
        m.submodules.event_sums = sums = EventSums({name: len(pulses) for name, pulses in events.items()})
        m.d.comb += [sums.pulses[name].eq(Cat(pulses)) for name, pulses in events.items() if pulses]
        m.d.comb += csr.events.eq(sums.events)
