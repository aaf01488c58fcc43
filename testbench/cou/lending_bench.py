"""Credits of a whole offload unit: as sender it asks and returns, as receiver it grants."""

import cocotb
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import Status
from testbench.clock import cycles
from testbench.cou.single_operation import single_operation, single_packet
from testbench.cou.unit_driver import Unit
from testbench.credit.lending_peers import Sender
from testbench.runner import parameters


@cocotb.test()
async def no_credit_no_packet(dut):
    """While the receiver gives no credit back, no more than its share is sent; then all of it."""
    unit = Unit(dut)
    unit.returns = False
    await unit.start()
    share = parameters()["peer_credits"]
    operation = single_operation(unit, cp=1, cp_count=0, write_back=0, operand=2, length=64 * (share + 3), peer=2)
    await unit.submit(operation)
    await cycles(dut, 3000)
    assert len(unit.tx[0].received) == share
    unit.returns = True
    for packet in unit.tx[0].received:
        unit.give_back(packet)
    await unit.events.receive()
    # The last packets may be on their way out still.
    await cycles(dut, 500)
    assert len(unit.tx[0].received) == share + 3


@cocotb.test()
async def a_slow_peer_lends(dut):
    """With a long way to its receiver the unit asks for shared credits, uses them, and has none left in the end."""
    unit = Unit(dut)
    unit.delays = (300,)
    await unit.start(max_cycles=100_000)
    unit.receivers.generosity = 1  # loans refused by chance could keep it from ever having many
    share, n_packets = parameters()["peer_credits"], 60
    await unit.submit(single_operation(unit, cp=1, cp_count=0, write_back=0, operand=2, length=64 * n_packets, peer=2))
    await unit.events.receive()
    most = unit.receivers.most
    await cycles(dut, 1000)
    assert len(unit.tx[0].received) == n_packets
    assert unit.receivers.free == unit.pool, "loans that are not needed were kept"
    if unit.pool:
        assert most > 2 * share, "it did not go on with what it was lent"
        assert unit.receivers.on_loan > unit.receivers.unused
    else:
        assert most == share


@cocotb.test()
@cocotb.skipif(not parameters().get("pool"), reason="the build lends nothing")
async def a_busy_job_fills_the_buffer(dut):
    """A peer that always has more to send gets the whole pool, and never more; then all of it comes back."""
    unit = Unit(dut)
    await unit.start(max_cycles=200_000)
    # Each packet that goes on a credit brings a loan more, and there are more and more packets between two of those.
    share, n_packets = parameters()["peer_credits"], 16 * unit.pool
    unit.sender = sender = Sender(share=share)
    unlent = set()
    operation = single_operation(unit, length=64 * n_packets)
    await unit.submit(operation)
    for pulse in range(n_packets):
        while (header := sender.take()) is None:
            await RisingEdge(dut.clk)
        unit.arrives(single_packet(pulse=pulse), **header)
        assert sender.own + sender.shared + sender.idle <= share + unit.pool
        unlent.add(unit.figures().unlent)
    assert (await unit.events.receive())["status"] == Status.OK
    # All but what is just on its way back in a CREDIT packet.
    assert min(unlent) == 0, "the pool was not lent"
    assert sender.most >= share + unit.pool - 2
    await cycles(dut, 300)
    assert unit.figures().unlent == unit.pool - sender.idle
    assert unit.gone[9] == n_packets - sender.idle
    for _ in range(sender.idle):
        unit.return_loan(9)
    await cycles(dut, 300)
    assert unit.figures().unlent == unit.pool
    assert unit.gone[9] == n_packets


@cocotb.test()
async def loans_of_nobody(dut):
    """Shared credits that return, or carry packets, and were never granted: the pool stays as large as it is."""
    unit = Unit(dut)
    await unit.start()
    for _ in range(3):
        unit.credit(job_id=9, loan=1)
    await unit.rx[1].drain()
    await cycles(dut, 50)
    assert unit.unknown == (3 if unit.pool else 0)
    assert not unit.gone
    await unit.submit(single_operation(unit))
    unit.arrives(single_packet(), loan=1, tag=1)
    assert (await unit.events.receive())["status"] == Status.OK
    await cycles(dut, 50)
    assert unit.gone == {9: 1}
    assert unit.figures().unlent == unit.pool
