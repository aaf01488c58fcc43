"""Both ends of a reliable link with all that stands around them, inside of a bench."""

from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from rtl.link.link_layer import LinkStatus
from testbench import clock
from testbench.codec import decoder
from testbench.edge import bits, every_cycle
from testbench.link.faulty_wire import FaultyWire
from testbench.link.layer_parts import LayerSize
from testbench.link.link_model import LinkSink, LinkSource


class ReliableLink:
    """Two ends, what sends and receives behind each, and the wire between them."""

    def __init__(
        self, dut: SimHandleBase, size: LayerSize, *, delay: int, idle: float | None = None, hold: float | None = None
    ):
        self.dut, self.size = dut, size
        sizes = {"data_width": size.data_width, "buffer_flits": size.buffer_flits, "marked": True}
        self.sources = {end: LinkSource(dut, f"{end}__i", **sizes, idle=idle) for end in "ab"}
        self.sinks = {end: LinkSink(dut, f"{end}__o", **sizes, hold=hold) for end in "ab"}
        self.wires = {
            end: FaultyWire(dut, f"{end}__tx", f"{other}__rx", data_width=size.data_width, delay=delay)
            for end, other in ("ab", "ba")
        }
        self.ends: list[float] = []
        """Times in ns at which packets ended at `b`."""
        self.sinks["b"].add_callback(lambda _: self.ends.append(get_sim_time("ns")))
        self.events = dict.fromkeys(LinkStatus.members, 0)
        self.sent: dict[str, list[list[list[int]]]] = {end: [[], []] for end in "ab"}
        self._decode = decoder(LinkStatus)
        self._status = [bits(getattr(dut, f"{end}__status")) for end in "ab"]
        every_cycle(dut.clk, self._count)

    def _count(self) -> None:
        for status in self._status:
            if (value := status()) & ~1:
                for name, happens in self._decode(value).items():
                    self.events[name] += happens.bit_count()

    @property
    def up(self) -> bool:
        """Both ends are up."""
        return all(status() & 1 for status in self._status)

    def send(self, end: str, vc: int, packet: list[int]) -> None:
        """Queues a packet at an end."""
        self.sent[end][vc].append(packet)
        self.sources[end].append((vc, packet))

    def set_rates(self, rates: dict[str, float]) -> None:
        """Faults of both wires, from the next word on."""
        for wire in self.wires.values():
            wire.set_rates(rates)

    async def bring_up(self) -> None:
        """Reset, then training."""
        await clock.start(self.dut, max_cycles=400_000)
        while not self.up:
            await RisingEdge(self.dut.clk)

    async def go_on(self) -> int:
        """Waits until both ends are up and all that comes has come; what is missing must be in one piece on each
        channel, and at its end or followed by packets that came. Gives how many packets are missing."""
        other, missing = {"a": "b", "b": "a"}, 0
        while not self.up:
            await RisingEdge(self.dut.clk)
        for source in self.sources.values():
            await source.drain()
        await clock.cycles(self.dut, 4 * self.size.replay_cycles)
        for end, sent in self.sent.items():
            for vc, packets in enumerate(sent):
                came = self.sinks[other[end]].received[vc]
                first = next((k for k, packet in enumerate(came) if packet != packets[k]), len(came))
                behind = len(came) - first
                assert came[first:] == packets[len(packets) - behind:], "what came is not what was sent, in order"
                missing += len(packets) - len(came)
                packets[:] = came
        return missing

    async def drain(self) -> None:
        """Waits until all packets have come; checks them, and that all credits come back."""
        other = {"a": "b", "b": "a"}
        for end, sent in self.sent.items():
            sink = self.sinks[other[end]]
            while [len(part) for part in sink.received] != [len(part) for part in sent]:
                await RisingEdge(self.dut.clk)
                for vc in (0, 1):
                    assert len(sink.received[vc]) <= len(sent[vc]), "more packets came than were sent"
        for end, sent in self.sent.items():
            assert self.sinks[other[end]].received == sent
        for source in self.sources.values():
            await source.drain()
        # Nothing comes after the end.
        await clock.cycles(self.dut, 2 * self.size.replay_cycles)
        for end, sent in self.sent.items():
            assert self.sinks[other[end]].received == sent
            assert self.sinks[end].idle
