"""Bench of the queues as a system: a virtual port gets another record while it has a turn."""

import cocotb
from cocotb.handle import SimHandleBase

from firmware_models.abi.registers import CONTROL_PAGE
from testbench import clock
from testbench.queue.parts import BATCH, FIRST_INDEX
from testbench.queue.queue_bench import start
from testbench.queue.units import Unit
from testbench.runner import rng


@cocotb.test()
async def new_record_ends_an_offered_turn(dut: SimHandleBase) -> None:
    """A VP gets a new owner while its turn is offered, and perhaps fetched: nothing of the old one is served."""
    setup = await start(dut, max_cycles=200_000)
    numbers = rng("owners")
    setup.p2p.places = 1000
    old: list[Unit] = []
    await setup.open(9)
    # One for all owners, whose units have tags of their own then.
    maker = setup.makers[9]
    for _ in range(12):
        held, other = await setup.open(2), await setup.open(9)
        # Indexes of the old owner's rings are others than those that the new one begins with.
        begun = [maker.send() for _ in range(numbers.randint(0, BATCH + 1))]
        if begun:
            await setup.post(other, *begun)
            await setup.host.wait(other, len(begun))
        # A turn that does not end: that of the other VP is offered meanwhile.
        setup.p2p.sink.set_stall(1.0)
        await setup.post(held, *[setup.makers[2].send() for _ in range(numbers.choice((1, BATCH + 1)))])
        await clock.cycles(dut, 300)
        passed = [maker.send() for _ in range(numbers.randint(1, BATCH + 1))]
        old += passed
        await setup.post(other, *passed)
        await clock.cycles(dut, numbers.choice((0, 20, 40, 300)))
        await setup.host.write("vp_select", 9)
        await setup.host.write("vp_commit", CONTROL_PAGE.pack("vp_commit", enable=0))
        again = await setup.open(9)
        new = [maker.send() for _ in range(numbers.randint(0, BATCH + 1))]
        if new:
            await setup.post(again, *new)
        await clock.cycles(dut, numbers.choice((0, 300)))
        setup.p2p.sink.set_stall(numbers.choice((0.0, 0.5)))
        await setup.host.wait(held, held.descriptors.produced - FIRST_INDEX)
        # It completes what the new owner has posted, in order, and what is posted after that.
        new.append(maker.send())
        await setup.post(again, new[-1])
        found = await setup.host.wait(again, len(new))
        assert sorted(entry["tag"] for entry in found) == sorted(unit.completion["tag"] for unit in new)
        served = [desc["tag"] for desc in setup.p2p.accepted if desc["source_vp"] == 9]
        assert served[-len(new):] == [unit.completion["tag"] for unit in new]
    assert not {unit.completion["tag"] for unit in old} & {desc["tag"] for desc in setup.p2p.accepted}
