"""The switch with a model of a link at every port, beside the model that it is compared with."""

from collections.abc import Iterable
from types import SimpleNamespace

from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from firmware_models.abi.formats import FIRST_MLID
from firmware_models.abi.register import REGISTER_BYTES, joined
from firmware_models.abi.registers import MFT_BLOCK_ENTRIES, MFT_GROUP_PORTS, SWITCH_COUNTERS, SWITCH_PAGE
from testbench import clock
from testbench.link import LinkSink, LinkSource
from testbench.runner import parameters, rng
from testbench.switch.switch_model import SwitchModel, random_packet

VCS = (0, 1)
REGISTERS = {register.name: register.offset for register in SWITCH_PAGE}
COUNTERS = {counter.name: SWITCH_COUNTERS.offset(counter.name) for counter in SWITCH_COUNTERS}


class Fabric:
    """The switch with a model of a link at every port, and the model that it is compared with."""

    def __init__(self, dut: SimHandleBase, *, idle: float | None = None, hold: float | None = None):
        self.dut = dut
        self.size = SimpleNamespace(**parameters())
        self.ports = range(self.size.radix)
        self.model = SwitchModel(self.size.radix, self.size.entries, self.size.mft_entries, self.size.data_width)
        ends = {"data_width": self.size.data_width, "buffer_flits": self.size.buffer_flits}
        self.sources = [LinkSource(dut, f"rx__{port}", **ends, idle=idle) for port in self.ports]
        self.sinks = [LinkSink(dut, f"tx__{port}", **ends, hold=hold) for port in self.ports]
        for port, sink in enumerate(self.sinks):
            sink.add_callback(self._leaves_at(port))
        self.numbers = rng("traffic")

    def _leaves_at(self, port: int):
        def leave(packet: tuple[int, list[int]]) -> None:
            self.model.leave(port, *packet)
        return leave

    async def start(self, *, max_cycles: int = 100_000) -> None:
        """Resets the switch and fills its table: NodeID n to port n modulo radix, those beyond to the last port."""
        await clock.start(self.dut, max_cycles=max_cycles)
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(self.dut, "s_axil_"), self.dut.clk, self.dut.rst)
        await self.set_default(self.size.radix - 1)
        for node in range(self.size.entries):
            await self.set_route(node, node % self.size.radix)

    async def set_route(self, node: int, port: int) -> None:
        """Writes an entry of the unicast table."""
        await self.registers.write_dword(REGISTERS["table_select"], node)
        await self.registers.write_dword(REGISTERS["table_port"], port)
        self.model.table[node] = port

    async def set_default(self, port: int) -> None:
        """Writes the default port."""
        await self.registers.write_dword(REGISTERS["default_port"], port)
        self.model.default_port = port

    async def set_source(self, port: int, *, check: bool) -> None:
        """Has the packets of a port checked, or no longer: they come from the NodeID that is the port's number."""
        await self.select(port)
        word = SWITCH_PAGE.pack("port_source", node_id=port, check=check)
        await self.registers.write_dword(REGISTERS["port_source"], word)
        assert await self.registers.read_dword(REGISTERS["port_source"]) == word
        if check:
            self.model.sources[port] = port
        else:
            self.model.sources.pop(port, None)

    async def set_group(self, mlid: int, ports: Iterable[int]) -> None:
        """Writes the ports of a multicast group."""
        self.model.groups[mlid] = set(ports)
        for group in range(-(-self.size.radix // MFT_GROUP_PORTS)):
            mask = sum(1 << port % MFT_GROUP_PORTS for port in self.model.groups[mlid]
                       if port // MFT_GROUP_PORTS == group)
            block, word = divmod(mlid - FIRST_MLID, MFT_BLOCK_ENTRIES)
            place = SWITCH_PAGE.pack("mft_block", block=block, group=group)
            await self.registers.write_dword(REGISTERS["mft_block"], place)
            await self.registers.write_dword(REGISTERS["mft_mask"] + REGISTER_BYTES * word, mask)

    def send(
        self, source: int, dest_id: int, vc: int, *, longest: int = 12, mlid: int | None = None, honest: bool = True,
        exactly: int | None = None, claims: int | None = None,
    ) -> int:
        """Queues a random packet to a node, or with `mlid` to a group; returns the number of its flits.

        One that `claims` to be of another source must be discarded.
        """
        flits = random_packet(
            self.numbers, source=source if claims is None else claims, dest_id=dest_id,
            data_width=self.size.data_width, longest=longest, mlid=mlid, honest=honest, exactly=exactly,
        )
        self.model.enter(source, vc, flits)
        self.sources[source].append((vc, flits))
        return len(flits)

    async def block(self, vc: int, *, mlid: int | None = None) -> None:
        """Withholds the credits of a channel everywhere and sends on it until it stands still and has no room left.

        One input alone can fill the buffers of all outputs, so how many packets that takes is not known before.
        """
        for sink in self.sinks:
            sink.withheld = {vc}
        quiet = 0
        while quiet < 60:
            for port, source in enumerate(self.sources):
                if source.credits[vc] and not source.pending:
                    self.send(port, self.numbers.choice(self.ports), vc, mlid=mlid)
            await RisingEdge(self.dut.clk)
            quiet = 0 if any(source.credits[vc] for source in self.sources) else quiet + 1

    async def settle(self) -> None:
        """Waits until every packet has come out and every credit is back, and a little longer."""
        while self.model.outstanding:
            await RisingEdge(self.dut.clk)
        for source in self.sources:
            await source.drain()
        await clock.cycles(self.dut, 30)
        assert all(not partial for sink in self.sinks for partial in sink.partial)

    async def select(self, port: int) -> None:
        """Chooses the port whose figures are read."""
        await self.registers.write_dword(REGISTERS["port_select"], port)

    async def counter(self, name: str) -> int:
        """A counter of the port chosen."""
        low = await self.registers.read_dword(COUNTERS[name])
        return joined(low, await self.registers.read_dword(COUNTERS[name] + REGISTER_BYTES))

    async def figure(self, name: str) -> list[int]:
        """A figure of the port chosen, field by field: those of virtual channels, most of the time."""
        word = await self.registers.read_dword(REGISTERS[name])
        return list(SWITCH_PAGE[name].unpack(word).values())

    async def check_figures(self) -> None:
        """Compares the figures of all ports with the model, once nothing moves any more."""
        full = [self.size.buffer_flits for _ in VCS]
        for port in self.ports:
            await self.select(port)
            for name in COUNTERS:
                if not name.startswith("stalls"):
                    assert await self.counter(name) == self.model.counts[name, port], f"{name} of port {port}"
            up, refused, dead = await self.figure("port_link")
            assert (up, refused, dead) == (1, 0, 0), "a plain link is up"
            assert await self.figure("port_credits") == full
            assert await self.figure("port_depth") == [0 for _ in VCS]
            peaks = await self.figure("port_depth_peak")
            assert max(peaks) <= self.size.buffer_flits
            assert min(peaks) > 0 or not self.model.counts["rx_packets", port]
