"""Bench of the switch, unicast: every packet once, unchanged, in order, at its port; channels independent; speed."""

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiResp

from firmware_models.abi.formats import FIRST_MLID
from firmware_models.abi.registers import MFT_BLOCK_ENTRIES, MFT_GROUP_PORTS, SWITCH_PAGE
from testbench import clock
from testbench.coverage import cover
from testbench.runner import parameters, report
from testbench.switch.fabric import REGISTERS, VCS, Fabric
from testbench.switch.switch_model import header_of

_ports = range(parameters().get("radix", 0))
noted_pair = cover("pairs of ports", source=_ports, dest=_ports, vc=VCS)


@cocotb.test()
async def random_traffic(dut: SimHandleBase) -> None:
    """Random packets between random ports on both channels, inside and outside of the table, pauses everywhere."""
    fabric = Fabric(dut)
    await fabric.start()
    edges = (0, fabric.size.entries - 1, fabric.size.entries, (1 << 24) - 1)
    for _ in range(600):
        dest_id = fabric.numbers.choice((*edges, *range(fabric.size.entries)))
        fabric.send(fabric.numbers.choice(fabric.ports), dest_id, fabric.numbers.choice(VCS), longest=40)
    await fabric.settle()
    assert fabric.model.received == 600
    await fabric.check_figures()


@cocotb.test()
async def all_pairs(dut: SimHandleBase) -> None:
    """One packet from every port to every port on each channel, one at a time: no other output stirs."""
    fabric = Fabric(dut, idle=0, hold=0)
    await fabric.start()
    for source in fabric.ports:
        for dest in fabric.ports:
            for vc in VCS:
                before = [sink.flits for sink in fabric.sinks]
                count = fabric.send(source, dest, vc)
                await fabric.settle()
                after = [sink.flits for sink in fabric.sinks]
                moved = [b - a for a, b in zip(before, after, strict=True)]
                assert moved == [count * (port == dest) for port in fabric.ports]
                noted_pair(source=source, dest=dest, vc=vc)


@cocotb.test()
@cocotb.parametrize(vc=VCS)
async def hot_spot_is_fair_and_fast(dut: SimHandleBase, vc: int) -> None:
    """All inputs send to one output: it never pauses, and the inputs take turns packet by packet."""
    fabric = Fabric(dut, idle=0, hold=0)
    await fabric.start()
    target = fabric.size.radix - 1
    sink = fabric.sinks[target]
    total = sum(fabric.send(port, target, vc, longest=4) for _ in range(40) for port in fabric.ports)
    while not sink.flits:
        await RisingEdge(dut.clk)
    elapsed = 0
    while sink.flits < total:
        await RisingEdge(dut.clk)
        elapsed += 1
    assert elapsed <= total + 5, f"{total} flits took {elapsed} cycles"
    order = [header_of(flits, fabric.size.data_width)["source_id"] for _, flits in sink.order]
    radix = fabric.size.radix
    # Once every input has something there, any window of `radix` packets has one of each.
    for first in range(radix, 30 * radix):
        assert sorted(order[first:first + radix]) == list(fabric.ports)
    await fabric.settle()


@cocotb.test()
@cocotb.parametrize(shift=(0, 1))
async def permutation_runs_at_full_speed(dut: SimHandleBase, shift: int) -> None:
    """Every input sends to an output of its own: one flit per cycle and port, packets back to back."""
    fabric = Fabric(dut, idle=0, hold=0)
    await fabric.start()
    totals = [0] * fabric.size.radix
    for port in fabric.ports:
        while totals[port] < 400:
            totals[port] += fabric.send(port, (port + shift) % fabric.size.radix, 0, longest=6)
    elapsed = 0
    while fabric.model.outstanding:
        await RisingEdge(dut.clk)
        elapsed += 1
    assert elapsed <= max(totals) + 16, f"{max(totals)} flits took {elapsed} cycles"
    report(permutation_throughput=round(max(totals) / elapsed, 3))
    await fabric.settle()


@cocotb.test()
@cocotb.parametrize(stuck=VCS)
async def channels_are_independent(dut: SimHandleBase, stuck: int) -> None:
    """One channel is stuck everywhere for want of credits, all its buffers full; the other delivers everything."""
    fabric = Fabric(dut)
    await fabric.start()
    await fabric.block(stuck)
    stuck_packets = fabric.model.outstanding
    for _ in range(60):
        for source in fabric.ports:
            fabric.send(source, fabric.numbers.choice(fabric.ports), 1 - stuck)
    while fabric.model.outstanding > stuck_packets:
        await RisingEdge(dut.clk)
    assert all(source.credits[stuck] == 0 for source in fabric.sources)
    for sink in fabric.sinks:
        sink.withheld = set()
    await fabric.settle()


@cocotb.test()
async def channel_1_leaves_room(dut: SimHandleBase) -> None:
    """Other inputs send to an output on channel 1 without a pause: channel 0 has half of it all the same."""
    fabric = Fabric(dut, idle=0, hold=0)
    await fabric.start()
    target = fabric.size.radix - 1
    sink = fabric.sinks[target]
    low = sum(fabric.send(0, target, 0, exactly=12) for _ in range(50))
    high = sum(fabric.send(port, target, 1, exactly=12) for _ in range(300) for port in fabric.ports[1:-1])
    elapsed = n_low = 0
    seen = len(sink.order)
    while n_low < 50:
        await RisingEdge(dut.clk)
        elapsed += 1
        n_low += sum(vc == 0 for vc, _ in sink.order[seen:])
        seen = len(sink.order)
    assert elapsed < 5 * low < high, "the flood was over too soon to say anything"
    assert elapsed <= 2.2 * low + 100, f"{low} flits of channel 0 took {elapsed} cycles"
    assert elapsed >= 1.5 * low, "channel 1 does not go first any more"
    await fabric.settle()


@cocotb.test()
async def withheld_credits_lose_nothing(dut: SimHandleBase) -> None:
    """Outputs stand still for long, one after the other, while everything is sent everywhere."""
    fabric = Fabric(dut, idle=0)
    await fabric.start()
    for _ in range(100):
        for source in fabric.ports:
            fabric.send(source, fabric.numbers.choice(fabric.ports), fabric.numbers.choice(VCS))
    for sink in fabric.sinks:
        sink.set_hold(1)
        await clock.cycles(dut, 300)
        sink.set_hold(None)
    await fabric.settle()


@cocotb.test()
async def table_follows_the_registers(dut: SimHandleBase) -> None:
    """Entries and the default port are changed between packets; what the switch does not have is refused."""
    fabric = Fabric(dut)
    await fabric.start()
    radix, entries = fabric.size.radix, fabric.size.entries
    registers = fabric.registers
    expected = {"id": 0x434F4E53, "version": 1, "radix": radix, "table_entries": entries, "default_port": radix - 1,
                "mft_entries": fabric.size.mft_entries}
    for name, value in expected.items():
        assert await registers.read_dword(REGISTERS[name]) == value
    for node in (0, entries - 1, fabric.numbers.randrange(entries)):
        for port in fabric.ports:
            await fabric.set_route(node, port)
            for source in fabric.ports:
                fabric.send(source, node, fabric.numbers.choice(VCS))
            await fabric.settle()
    # Ports and NodeIDs that are not there change nothing.
    await registers.write_dword(REGISTERS["default_port"], radix)
    assert await registers.read_dword(REGISTERS["default_port"]) == radix - 1
    await registers.write_dword(REGISTERS["table_select"], 1)
    await registers.write_dword(REGISTERS["table_port"], radix)
    if entries < 1 << 16:
        await registers.write_dword(REGISTERS["table_select"], entries + 1)
        await registers.write_dword(REGISTERS["table_port"], (fabric.model.route(1) + 1) % radix)
        assert await registers.read_dword(REGISTERS["table_select"]) == entries + 1
    for port in fabric.ports:
        await fabric.set_default(port)
        fabric.send(0, 1, 0)
        fabric.send(0, entries, 1)
        await fabric.settle()
    for address in (REGISTERS["table_port"], 0x1FC, 0x280, 0xFFC):
        assert (await registers.read(address, 4)).resp == AxiResp.SLVERR


@cocotb.test()
async def multicast_table_is_read_as_written(dut: SimHandleBase) -> None:
    """Masks of all blocks and groups read back as written, less ports that are not there; no other entry changes."""
    fabric = Fabric(dut)
    await fabric.start()
    registers, numbers = fabric.registers, fabric.numbers
    radix, entries = fabric.size.radix, fabric.size.mft_entries
    masks: dict[tuple[int, int], int] = {}
    for _ in range(60):
        block, group = numbers.randrange(-(-entries // MFT_BLOCK_ENTRIES) + 1), numbers.randrange(3)
        word, mask = numbers.randrange(MFT_BLOCK_ENTRIES), numbers.getrandbits(MFT_GROUP_PORTS)
        await registers.write_dword(REGISTERS["mft_block"], SWITCH_PAGE.pack("mft_block", block=block, group=group))
        await registers.write_dword(REGISTERS["mft_mask"] + 4 * word, mask | numbers.getrandbits(16) << MFT_GROUP_PORTS)
        colour = MFT_BLOCK_ENTRIES * block + word
        ports = max(0, min(MFT_GROUP_PORTS, radix - MFT_GROUP_PORTS * group))
        if colour < entries:
            masks[colour, group] = mask & (1 << ports) - 1
    for group in range(3):
        for block in range(-(-entries // MFT_BLOCK_ENTRIES) + 1):
            await registers.write_dword(REGISTERS["mft_block"], SWITCH_PAGE.pack("mft_block", block=block, group=group))
            assert await registers.read_dword(REGISTERS["mft_block"]) == SWITCH_PAGE.pack(
                "mft_block", block=block, group=group
            )
            for word in range(MFT_BLOCK_ENTRIES):
                mask = await registers.read_dword(REGISTERS["mft_mask"] + 4 * word)
                assert mask == masks.get((MFT_BLOCK_ENTRIES * block + word, group), 0)


@cocotb.test()
async def reset_clears_the_table(dut: SimHandleBase) -> None:
    """After a reset all NodeIDs go to port 0; a register write that comes at once is not lost."""
    fabric = Fabric(dut)
    await fabric.start()
    dut.rst.value = 1
    await clock.cycles(dut, 3)
    dut.rst.value = 0
    fabric.model.table, fabric.model.default_port = {}, 0
    await clock.cycles(dut, 2)
    await fabric.set_route(fabric.size.entries - 1, 1)
    for dest_id in (0, 1, fabric.size.entries - 1, fabric.size.entries):
        for source in fabric.ports:
            fabric.send(source, dest_id, fabric.numbers.choice(VCS))
    await fabric.settle()


@cocotb.test()
@cocotb.skipif(parameters().get("data_width", 64) > 64, reason="every flit of this width holds a destination")
async def packets_without_destination_are_discarded(dut: SimHandleBase) -> None:
    """A packet that ends before its destination comes out nowhere, takes no room, and does not stop those behind it."""
    fabric = Fabric(dut)
    await fabric.start()
    for number in range(3 * fabric.size.buffer_flits):
        for source in fabric.ports:
            fabric.sources[source].append((number & 1, [number]))
            fabric.model.count("rx", source, [number])
            fabric.model.counts["malformed", source] += 1
    for source in fabric.ports:
        fabric.send(source, 2, 0)
        fabric.send(source, 1, 1)
    await fabric.settle()
    await fabric.check_figures()


@cocotb.test()
async def no_node_speaks_for_another(dut: SimHandleBase) -> None:
    """Behind a port that is checked only packets of its node come out, unicasts and multicasts, on both channels; the
    others are discarded and counted. Ports that are not checked let in everything; so does one whose check ends."""
    fabric = Fabric(dut)
    await fabric.start()
    await fabric.set_group(FIRST_MLID, fabric.ports)
    checked = [port for port in fabric.ports if port % 2 == 0]
    for port in checked:
        await fabric.set_source(port, check=True)

    def traffic(*, claims: bool) -> None:
        for _ in range(12):
            for source in fabric.ports:
                for vc in VCS:
                    mlid = FIRST_MLID if fabric.numbers.random() < 0.4 else None
                    fabric.send(source, fabric.numbers.choice(fabric.ports), vc, mlid=mlid)
                    if claims and source in checked:
                        claimed = fabric.numbers.choice((source ^ 1, source ^ 1 << 23, source ^ 0xFFFFFF))
                        fabric.send(source, fabric.numbers.choice(fabric.ports), vc, mlid=mlid, claims=claimed)

    traffic(claims=True)
    await fabric.settle()
    await fabric.check_figures()
    assert all(fabric.model.counts["forged", port] == (24 if port in checked else 0) for port in fabric.ports)
    for port in checked:
        await fabric.set_source(port, check=False)
    traffic(claims=False)
    await fabric.settle()
    await fabric.check_figures()


@cocotb.test()
@cocotb.parametrize(vc=VCS)
async def stalls_are_counted(dut: SimHandleBase, vc: int) -> None:
    """An output without credits stalls in every cycle in which a packet waits for it, on its channel alone."""
    fabric = Fabric(dut, idle=0, hold=0)
    await fabric.start()
    stuck = fabric.ports[-1]
    fabric.sinks[stuck].withheld = {vc}
    while fabric.sources[0].credits[vc] > fabric.size.buffer_flits // 2:
        if not fabric.sources[0].pending:
            fabric.send(0, stuck, vc)
        await clock.cycles(dut, 1)
    await clock.cycles(dut, 40)

    await fabric.select(stuck)
    before, start = await fabric.counter(f"stalls_{vc}"), get_sim_time("ns")
    await clock.cycles(dut, 500)
    after, elapsed = await fabric.counter(f"stalls_{vc}"), (get_sim_time("ns") - start) / clock.PERIOD_NS
    walk = 8 * fabric.size.radix + 20
    assert elapsed - walk <= after - before <= elapsed + walk
    assert await fabric.counter(f"stalls_{1 - vc}") == 0
    assert (await fabric.figure("port_credits"))[vc] < fabric.size.buffer_flits
    for port in fabric.ports[:-1]:
        await fabric.select(port)
        assert await fabric.counter(f"stalls_{vc}") == 0
    await fabric.select(0)
    assert (await fabric.figure("port_depth"))[vc] == fabric.size.buffer_flits - fabric.sources[0].credits[vc]
    fabric.sinks[stuck].withheld = set()
    await fabric.settle()
    quiet = await fabric.counter(f"stalls_{vc}")
    await clock.cycles(dut, 200)
    assert await fabric.counter(f"stalls_{vc}") == quiet


@cocotb.test()
async def wrong_lengths_lose_nothing(dut: SimHandleBase) -> None:
    """Headers with any length: the packets are forwarded as long as they are, whatever room their start counted on."""
    fabric = Fabric(dut)
    await fabric.start()
    for _ in range(60):
        for source in fabric.ports:
            fabric.send(source, fabric.numbers.choice(fabric.ports), fabric.numbers.choice(VCS), honest=False)
    await fabric.settle()


@cocotb.test()
async def no_input_keeps_an_output_for_ever(dut: SimHandleBase) -> None:
    """Two streams that never end at once: a packet of one input for the other's output comes out in between."""
    fabric = Fabric(dut, idle=0, hold=0)
    await fabric.start()
    payload = 32
    packet = payload + max(1, 256 // fabric.size.data_width)
    fabric.send(0, 0, 0, exactly=payload)
    fabric.send(0, 1, 0, exactly=0)
    for _ in range(100):
        fabric.send(0, 0, 0, exactly=payload)
    await clock.cycles(dut, packet // 2)
    for _ in range(100):
        fabric.send(1, 1, 0, exactly=payload)
    elapsed = 0
    while all(header_of(flits, fabric.size.data_width)["source_id"] for _, flits in fabric.sinks[1].order):
        await RisingEdge(dut.clk)
        elapsed += 1
    assert elapsed < 40 * packet, f"waited for {elapsed} cycles"
    await fabric.settle()


@cocotb.test()
async def hop_latency(dut: SimHandleBase) -> None:
    """Header in to header out, unloaded, for outputs that served this input last and for those that did not."""
    fabric = Fabric(dut, idle=0, hold=0)
    await fabric.start()
    hops = []
    for _ in range(3):
        for source in fabric.ports:
            for dest in fabric.ports:
                for vc in VCS:
                    fabric.sources[source].first_sent = None
                    fabric.sinks[dest].first_received = None
                    fabric.send(source, dest, vc)
                    await fabric.settle()
                    sent, received = fabric.sources[source].first_sent, fabric.sinks[dest].first_received
                    hops.append(round((received - sent) / clock.PERIOD_NS))
    report(hop_cycles={"min": min(hops), "max": max(hops)})
    assert max(hops) <= 7
