"""Bench of the group filter: multicasts of joined groups pass, others do not; everything else is left alone."""

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi import formats
from firmware_models.abi.encoding import PacketType
from rtl.nic.group_filter import GroupEntry
from testbench.clock import cycles, start
from testbench.packet import Packet, PacketSink, PacketSource
from testbench.runner import parameters, report, rng
from testbench.stream import StreamSource

NODE_ID = 0x123
N_MGIDS = 6
"""Groups of the test: more than there are entries."""


class Filter:
    """The filter, its membership as the host has written it, and its drops."""

    def __init__(self, dut: SimHandleBase):
        width = parameters()["data_width"]
        self.dut = dut
        self.source, self.sink = PacketSource(dut, "i", width), PacketSink(dut, "o", width)
        self.write = StreamSource(dut, "write", GroupEntry, idle=0)
        self.entries: dict[int, tuple[int, int]] = {}
        self.dropped = 0

    async def start(self) -> None:
        await start(self.dut)
        self.dut.node_id.value = NODE_ID
        cocotb.start_soon(self._count())

    async def _count(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.dropped += int(self.dut.not_joined.value)

    async def set(self, entry: int, mgid: int, joined: int) -> None:
        """Writes an entry."""
        self.dut.select.value = entry
        await self.write.send(dict.fromkeys(GroupEntry.members, 0) | {"mgid": mgid, "joined": joined})
        if entry < parameters()["n_groups"]:
            self.entries[entry] = mgid, joined
        await cycles(self.dut, 2)
        shown = GroupEntry.from_bits(int(self.dut.entry.value))
        assert (shown.mgid, shown.joined) == self.entries.get(entry, (0, 0))

    def takes(self, packet: Packet) -> bool:
        """True if this NIC must get the packet."""
        header = packet.header
        joined = {mgid for mgid, is_joined in self.entries.values() if is_joined}
        return not header["multicast"] or (header["dest_id"] in joined and header["source_id"] != NODE_ID)


@cocotb.test()
async def members_get_what_is_theirs(dut: SimHandleBase) -> None:
    """Random packets; between batches groups are joined and left, also by entries that are not there."""
    unit, numbers = Filter(dut), rng("packets")
    await unit.start()
    expected, n_dropped, n_multicasts = [], 0, 0
    for batch in range(parameters()["batches"]):
        # Of the first batch some are certainly for a group that this NIC has joined.
        entry = numbers.randrange(parameters()["n_groups"] + 2) if batch else 0
        await unit.set(entry, numbers.randrange(N_MGIDS), numbers.choice((0, 1, 1)) if batch else 1)
        joined = [mgid for mgid, is_joined in unit.entries.values() if is_joined]
        for _ in range(20):
            header = {
                field.name: numbers.getrandbits(field.width) for field in formats.PACKET_HEADER.fields
                if not field.is_reserved
            }
            payload = numbers.randbytes(numbers.choice((0, 0, 1, 8, 64)))
            header |= {
                "type": PacketType.COLLECTIVE, "multicast": numbers.choice((0, 1, 1)), "length": len(payload),
                "dest_id": numbers.choice([*range(N_MGIDS), *joined]), "source_id": numbers.choice((NODE_ID, 1, 2, 3)),
            }
            packet = Packet.make(payload, **header)
            unit.source.append(packet)
            n_multicasts += header["multicast"]
            if unit.takes(packet):
                mine = {"dest_id": NODE_ID} if header["multicast"] else {}
                expected.append(Packet(packet.header | mine, payload))
            else:
                n_dropped += 1
        await unit.source.drain()
        while len(unit.sink.received) < len(expected):
            await RisingEdge(dut.clk)
        await cycles(dut, 5)
        assert unit.sink.received == expected
        assert unit.dropped == n_dropped
    report(multicasts=n_multicasts, dropped=n_dropped)


@cocotb.test()
async def an_offer_stays(dut: SimHandleBase) -> None:
    """A header that has been offered is not withdrawn because its group is left; the next one is discarded."""
    unit = Filter(dut)
    unit.sink.set_stall(0.98)
    await unit.start()
    for _ in range(20):
        await unit.set(0, 5, 1)
        before, dropped = len(unit.sink.received), unit.dropped
        packet = Packet.make(b"abc", type=PacketType.COLLECTIVE, multicast=1, dest_id=5, source_id=1)
        unit.source.append(packet)
        while not int(dut.o__header__valid.value):
            await RisingEdge(dut.clk)
        await unit.set(0, 5, 0)
        await unit.source.drain()
        while len(unit.sink.received) == before:
            await RisingEdge(dut.clk)
        unit.source.append(packet)
        await unit.source.drain()
        await cycles(dut, 5)
        assert len(unit.sink.received) == before + 1
        assert unit.dropped == dropped + 1
