"""Bench of switches in a tree: groups of different trees and colours, beside packets to one terminal."""

from collections import defaultdict, deque
from types import SimpleNamespace

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from firmware_models.abi.formats import FIRST_MLID
from firmware_models.abi.register import REGISTER_BYTES
from firmware_models.abi.registers import MFT_BLOCK_ENTRIES, SWITCH_PAGE
from testbench import clock
from testbench.link import LinkSink, LinkSource
from testbench.runner import parameters, rng
from testbench.switch.fabric import REGISTERS, VCS
from testbench.switch.switch_model import header_of, random_packet

_longest = 32


class Tree:
    """The tree with a model of a link at every terminal, and the packets that have to come out there."""

    def __init__(self, dut: SimHandleBase):
        self.dut = dut
        self.size = SimpleNamespace(**parameters())
        self.places = [tuple(place) for place in self.size.places]
        self.terminals = range(len(self.places))
        ends = {"data_width": self.size.data_width, "buffer_flits": self.size.buffer_flits}
        self.sources = [LinkSource(dut, f"rx__{terminal}", **ends) for terminal in self.terminals]
        self.sinks = [LinkSink(dut, f"tx__{terminal}", **ends) for terminal in self.terminals]
        for terminal, sink in enumerate(self.sinks):
            sink.add_callback(lambda packet, terminal=terminal: self._leaves(terminal, *packet))
        self.numbers = rng("traffic")
        self.expected: defaultdict[tuple[int, ...], deque[list[int]]] = defaultdict(deque)
        self.members: dict[int, set[int]] = {}

    async def start(self) -> None:
        """Resets, and programs the ways of packets to one terminal: up, unless the leaf has it; NodeID = terminal."""
        await clock.start(self.dut, max_cycles=100_000)
        self.registers = [
            AxiLiteMaster(AxiLiteBus.from_prefix(self.dut, f"s_axil_{number}_"), self.dut.clk, self.dut.rst)
            for number in range(3)
        ]
        up = self.size.radix - 1
        for terminal, (switch, port) in enumerate(self.places):
            for number in range(3):
                way = port if number == switch else up if number < 2 else switch
                await self.registers[number].write_dword(REGISTERS["table_select"], terminal)
                await self.registers[number].write_dword(REGISTERS["table_port"], way)

    async def set_group(self, group: int, colour: int, members: set[int]) -> None:
        """Programs the tree of a group: only the switches that it needs."""
        self.members[group] = members
        block, word = divmod(colour, MFT_BLOCK_ENTRIES)
        switches = {self.places[member][0] for member in members}
        if len(switches) > 1:
            switches |= {2}
        for switch in switches:
            ports = {port for home, port in (self.places[member] for member in members) if home == switch}
            if len(switches) > 1:
                ports |= {leaf for leaf in (0, 1) if leaf in switches} if switch == 2 else {self.size.radix - 1}
            await self.registers[switch].write_dword(REGISTERS["mft_block"], SWITCH_PAGE.pack("mft_block", block=block))
            mask = REGISTERS["mft_mask"] + REGISTER_BYTES * word
            old = await self.registers[switch].read_dword(mask)
            await self.registers[switch].write_dword(mask, old | sum(1 << port for port in ports))

    def send(self, source: int, vc: int, *, dest: int = 0, group: int | None = None, colour: int = 0,
             receivers: set[int] | None = None) -> None:
        """Queues a packet to a terminal, or to a group; `receivers` if they are more than its members."""
        flits = random_packet(
            self.numbers, source=source, dest_id=dest if group is None else group, data_width=self.size.data_width,
            longest=_longest, mlid=None if group is None else FIRST_MLID + colour,
        )
        targets = {dest} if group is None else (self.members[group] if receivers is None else receivers) - {source}
        for target in targets:
            self.expected[target, source, vc, int(group is not None)].append(flits)
        self.sources[source].append((vc, flits))

    def _leaves(self, terminal: int, vc: int, flits: list[int]) -> None:
        header = header_of(flits, self.size.data_width)
        queue = self.expected[terminal, header["source_id"], vc, header["multicast"]]
        assert queue, f"terminal {terminal}: a packet from {header['source_id']} that should not come here"
        assert queue.popleft() == flits, f"terminal {terminal}: changed, doubled or out of order"

    async def settle(self) -> None:
        """Waits until every packet has come out everywhere, and every credit is back."""
        while any(self.expected.values()):
            await RisingEdge(self.dut.clk)
        for source in self.sources:
            await source.drain()
        await clock.cycles(self.dut, 60)
        assert all(not partial for sink in self.sinks for partial in sink.partial)


@cocotb.test()
async def trees_that_share_no_switch_share_a_colour(dut: SimHandleBase) -> None:
    """One colour for a group within leaf 0 and another within leaf 1, a second one across the root; all at once."""
    tree = Tree(dut)
    await tree.start()
    leaf = [{t for t in tree.terminals if tree.places[t][0] == number} for number in range(3)]
    await tree.set_group(1, 0, leaf[0])
    await tree.set_group(2, 0, leaf[1])
    await tree.set_group(3, 1, {min(leaf[0]), max(leaf[0]), min(leaf[1]), min(leaf[2])})
    await tree.set_group(4, 2, set(tree.terminals))
    colours = {1: 0, 2: 0, 3: 1, 4: 2}
    for _ in range(250):
        group = tree.numbers.choice((None, 1, 2, 3, 4))
        if group is None:
            source, dest = tree.numbers.choice(tree.terminals), tree.numbers.choice(tree.terminals)
            tree.send(source, tree.numbers.choice(VCS), dest=dest)
        else:
            source = tree.numbers.choice(sorted(tree.members[group]))
            tree.send(source, tree.numbers.choice(VCS), group=group, colour=colours[group])
    await tree.settle()


@cocotb.test()
async def merged_groups_share_a_tree(dut: SimHandleBase) -> None:
    """Two groups of one colour that overlap: packets of each reach the members of both, once, with its number."""
    tree = Tree(dut)
    await tree.start()
    terminals = list(tree.terminals)
    await tree.set_group(5, 7, set(terminals[:4]))
    await tree.set_group(6, 7, set(terminals[2:5]))
    merged = tree.members[5] | tree.members[6]
    for _ in range(120):
        group = tree.numbers.choice((5, 6))
        source = tree.numbers.choice(sorted(tree.members[group]))
        tree.send(source, tree.numbers.choice(VCS), group=group, colour=7, receivers=merged)
    await tree.settle()


@cocotb.test()
async def storms_do_not_lock(dut: SimHandleBase) -> None:
    """All terminals send long packets to all others, up and down, while terminals stand still in turn."""
    tree = Tree(dut)
    await tree.start()
    await tree.set_group(8, 3, set(tree.terminals))
    await tree.set_group(9, 4, set(list(tree.terminals)[1:-1]))
    for _ in range(25):
        for source in tree.terminals:
            group = tree.numbers.choice((8, 9)) if source in tree.members[9] else 8
            tree.send(source, tree.numbers.choice(VCS), group=group, colour=group - 5)
            if tree.numbers.random() < 0.3:
                tree.send(source, tree.numbers.choice(VCS), dest=tree.numbers.choice(tree.terminals))
    for sink in tree.sinks:
        sink.set_hold(1)
        await clock.cycles(dut, tree.numbers.randint(50, 400))
        sink.set_hold(None)
    await tree.settle()
