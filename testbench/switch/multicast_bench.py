"""Bench of the switch, multicast: every packet exactly once at every port of its set, in order; no deadlock; speed."""

from itertools import combinations

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.formats import FIRST_MLID
from testbench import clock
from testbench.runner import report
from testbench.switch.fabric import VCS, Fabric

_longest = 32
"""Flits of payload of the longest packets; every size that is tested takes them."""


def subsets(ports: range) -> list[tuple[int, ...]]:
    """All sets of ports but the empty one."""
    return [ports_of for count in range(1, len(ports) + 1) for ports_of in combinations(ports, count)]


async def with_groups(fabric: Fabric) -> list[int]:
    """Starts with a group for every set of ports (or as many as the table has entries); returns their MLIDs."""
    await fabric.start()
    sets = subsets(fabric.ports)[-fabric.size.mft_entries:]
    for colour, ports in enumerate(sets):
        await fabric.set_group(FIRST_MLID + colour, ports)
    return [FIRST_MLID + colour for colour in range(len(sets))]


@cocotb.test()
@cocotb.parametrize(vc=VCS)
async def every_set_from_every_port(dut: SimHandleBase, vc: int) -> None:
    """Each set of ports from each ingress on its own: exactly the flits of its copies, at exactly its ports."""
    fabric = Fabric(dut)
    mlids = await with_groups(fabric)
    for mlid in mlids:
        for source in fabric.ports:
            before = [sink.flits for sink in fabric.sinks]
            count = fabric.send(source, fabric.numbers.randrange(1 << 24), vc, mlid=mlid)
            await fabric.settle()
            moved = [sink.flits - old for sink, old in zip(fabric.sinks, before, strict=True)]
            assert moved == [count * (port in fabric.model.groups[mlid] - {source}) for port in fabric.ports]


@cocotb.test()
async def random_mix(dut: SimHandleBase) -> None:
    """Packets to one port and to sets of ports, on both channels, short and long, pauses everywhere."""
    fabric = Fabric(dut)
    mlids = await with_groups(fabric)
    for _ in range(700):
        mlid = fabric.numbers.choice((None, fabric.numbers.choice(mlids)))
        fabric.send(
            fabric.numbers.choice(fabric.ports), fabric.numbers.choice(fabric.ports), fabric.numbers.choice(VCS),
            mlid=mlid, longest=_longest,
        )
    await fabric.settle()
    await fabric.check_figures()


@cocotb.test()
@cocotb.parametrize(idle=(0.0, None), mixed=(False, True))
async def crossing_multicasts_do_not_lock(dut: SimHandleBase, idle: float | None, mixed: bool) -> None:
    """All inputs send long multicasts to sets that overlap; outputs stand still one after the other, then at once."""
    fabric = Fabric(dut, idle=idle)
    mlids = await with_groups(fabric)
    wide = [mlid for mlid in mlids if len(fabric.model.groups[mlid]) >= len(fabric.ports) - 1]
    for _ in range(40):
        for source in fabric.ports:
            mlid = None if mixed and fabric.numbers.random() < 0.4 else fabric.numbers.choice(wide)
            dest = fabric.numbers.choice(fabric.ports)
            fabric.send(source, dest, fabric.numbers.choice(VCS), mlid=mlid, longest=_longest)
    for held in ([sink] for sink in fabric.sinks + fabric.sinks):
        for sink in held:
            sink.set_hold(1)
        await clock.cycles(dut, fabric.numbers.randint(20, 400))
        for sink in held:
            sink.set_hold(None)
        await clock.cycles(dut, fabric.numbers.randint(0, 60))
    for sink in fabric.sinks:
        sink.set_hold(1)
    await clock.cycles(dut, 300)
    for sink in fabric.sinks:
        sink.set_hold(None)
    await fabric.settle()


@cocotb.test()
async def a_set_waits_for_none_of_its_ports(dut: SimHandleBase) -> None:
    """One output stands still: the copies for the others come out meanwhile, and its own copy comes later."""
    fabric = Fabric(dut, idle=0, hold=0)
    await fabric.start()
    await fabric.set_group(FIRST_MLID, fabric.ports)
    stuck = fabric.ports[-1]
    fabric.sinks[stuck].withheld = {0}
    # Fill what is behind the output that stands still, until not even a short packet starts.
    for _ in range(fabric.size.buffer_flits):
        fabric.send(0, stuck, 0, longest=0)
        await clock.cycles(dut, 12)
    held = fabric.sinks[stuck].flits
    assert held > fabric.size.buffer_flits // 2
    fabric.send(2, 0, 0, mlid=FIRST_MLID, longest=_longest)
    fabric.send(1, 0, 0, mlid=FIRST_MLID, longest=_longest)
    await clock.cycles(dut, 300)
    arrived = [len(sink.received[0]) for sink in fabric.sinks]
    assert [arrived[port] for port in fabric.ports if port != stuck] == [
        2 - (port in (1, 2)) for port in fabric.ports if port != stuck
    ]
    assert fabric.sinks[stuck].flits == held
    fabric.sinks[stuck].withheld = set()
    await fabric.settle()


@cocotb.test()
async def storm_runs_at_full_speed(dut: SimHandleBase) -> None:
    """One port sends to all: a flit per cycle comes out of every other one; then all do so, and nothing is lost."""
    fabric = Fabric(dut, idle=0, hold=0)
    await fabric.start()
    await fabric.set_group(FIRST_MLID, fabric.ports)
    total = sum(fabric.send(0, 0, 0, mlid=FIRST_MLID, longest=_longest) for _ in range(40))
    elapsed = 0
    while fabric.model.outstanding:
        await RisingEdge(dut.clk)
        elapsed += 1
    report(multicast_throughput=round(total / elapsed, 3))
    for _ in range(40):
        for source in fabric.ports:
            fabric.send(source, 0, fabric.numbers.choice(VCS), mlid=FIRST_MLID, longest=_longest)
    await fabric.settle()


@cocotb.test()
async def sets_without_ports_are_discarded(dut: SimHandleBase) -> None:
    """Unknown MLIDs, and sets of none but the ingress: discarded, their credits come back, others pass."""
    fabric = Fabric(dut)
    await fabric.start()
    last = FIRST_MLID + fabric.size.mft_entries
    await fabric.set_group(FIRST_MLID, {0})
    await fabric.set_group(FIRST_MLID + 2, fabric.ports)
    unknown = [0, FIRST_MLID - 1, last, 0xFFFF, FIRST_MLID + 1, fabric.numbers.randrange(FIRST_MLID)]
    if fabric.size.mft_entries > 1 << 14 - 1:
        unknown.remove(last)
    for _ in range(40):
        for source in fabric.ports:
            mlid = fabric.numbers.choice([*unknown, FIRST_MLID, FIRST_MLID + 2, None])
            fabric.send(source, fabric.numbers.choice(fabric.ports), fabric.numbers.choice(VCS), mlid=mlid)
    await fabric.settle()
    assert all(fabric.model.counts["discarded", port] for port in fabric.ports)
    await fabric.check_figures()


@cocotb.test()
@cocotb.parametrize(stuck=VCS)
async def channels_are_independent(dut: SimHandleBase, stuck: int) -> None:
    """One channel is full of multicasts that cannot leave; the other delivers everything."""
    fabric = Fabric(dut)
    mlids = await with_groups(fabric)
    await fabric.block(stuck, mlid=mlids[-1])
    stuck_copies = fabric.model.outstanding
    for _ in range(40):
        for source in fabric.ports:
            fabric.send(source, 0, 1 - stuck, mlid=fabric.numbers.choice(mlids))
    while fabric.model.outstanding > stuck_copies:
        await RisingEdge(dut.clk)
    for sink in fabric.sinks:
        sink.withheld = set()
    await fabric.settle()
