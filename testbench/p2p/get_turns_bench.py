"""Bench of GETs from several nodes: all of them are this instance, answering under other names."""

from collections import Counter, defaultdict

import cocotb
from cocotb.handle import SimHandleBase
from cocotb.triggers import RisingEdge

from firmware_models.abi.encoding import PacketType, Status
from rtl.p2p.records import GET_WINDOW, GETS_IN_HAND, REQUESTS_UNDER_WAY
from testbench import clock
from testbench.p2p.driver import BAD_SOURCE, MTU, NODE, SOURCE, TAGS, lengths
from testbench.p2p.get_bench import GetBench
from testbench.packet import Packet
from testbench.runner import parameters

NODES = (NODE, NODE ^ 1, NODE ^ 0x800000, NODE + 0x100, 0, 0xFFFFFF)
"""Names of nodes, more than can be asked at once; some differ in one bit."""
SLOW = NODES[1]
OVERSHOOT = 1
"""Requests that leave before the tracker has counted the one before them."""


class Nodes(GetBench):
    """Answers come from the node that was asked; those of `silent` nodes wait until they are let go.

    Every GET asks for an address of its own, so that a request tells whose it is.
    """

    def __init__(self, dut: SimHandleBase, width: int, **kwargs: float):
        super().__init__(dut, width, delay=4, **kwargs)
        self.network.filters = [self._asked, self._answered]
        self.silent: set[int] = set()
        self.requests: dict[int, list[int]] = defaultdict(list)
        """Tag by tag (the operation's number), in the order in which each node was asked."""
        self.order: list[int] = []
        """Nodes, in the order in which they were asked."""
        self._under_way = 0
        self._node_of: dict[int, int] = {}
        self._of_tag: dict[int, int] = defaultdict(int)
        self._held: list[Packet] = []

    def _asked(self, packet: Packet) -> list[Packet]:
        header = packet.header
        if header["type"] == PacketType.GET:
            node, tag = header["dest_id"], header["tag"]
            self.requests[node].append(tag)
            self._node_of[tag] = node
            self._of_tag[tag] += 1
            self.order.append(node)
            self._under_way += 1
            assert self._of_tag[tag] <= GET_WINDOW, f"{self._of_tag[tag]} requests of one GET under way"
            assert self._under_way <= REQUESTS_UNDER_WAY + OVERSHOOT, f"{self._under_way} requests under way"
        return [packet]

    def _answered(self, packet: Packet) -> list[Packet]:
        header = packet.header
        if header["type"] != PacketType.GET_DATA:
            return [packet]
        packet = Packet(header | {"source_id": self._node_of[header["tag"]]}, packet.payload)
        if packet.header["source_id"] in self.silent:
            self._held.append(packet)
            return []
        self._arrives(packet)
        return [packet]

    def _arrives(self, packet: Packet) -> None:
        self._of_tag[packet.header["tag"]] -= 1
        self._under_way -= 1

    def let_go(self) -> None:
        """Silent nodes answer, with what was asked of them before, too."""
        self.silent.clear()
        for packet in self._held:
            self._arrives(packet)
            self.network.sources[1].append(packet)
        self._held.clear()

    async def finish(self) -> None:
        """Every completion is right, memory too, and of each node one GET after the other was asked for."""
        await self.settle()
        self.check_memory()
        for node, tags in self.requests.items():
            assert tags == sorted(tags), f"GETs of node {node:#x} mixed: {tags}"


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def nodes_take_turns(dut: SimHandleBase, width: int) -> None:
    """GETs of several nodes, long and short, good and bad, while one or another falls silent: all is right."""
    bench = Nodes(dut, width)
    numbers = bench.numbers
    await bench.start()
    for _ in range(parameters()["operations"]):
        node = numbers.choice(NODES)
        if numbers.random() < 0.2:
            before = numbers.randrange(3) * MTU
            length = before + numbers.choice((1, MTU, 3 * MTU))
            local = bench.get(length, remote_addr=BAD_SOURCE - before, good=before, touched=length - before,
                              dest_id=node, expected={"status": Status.MEMORY_ERROR, "detail": BAD_SOURCE})
            bench.landed.append((local + before, bench.content(local + before, min(MTU, length - before))))
        else:
            bench.get(numbers.choice((*lengths(bench.flit), (GET_WINDOW + 1) * MTU)), dest_id=node)
        if numbers.random() < 0.1:
            bench.silent.add(numbers.choice(NODES))
            await clock.cycles(dut, numbers.randrange(3000))
            bench.let_go()
    await bench.finish()
    assert bench.unknown.count == 0


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def a_silent_node_is_no_bar(dut: SimHandleBase, width: int) -> None:
    """While a node does not answer, GETs of others are carried out, and what is asked of it is bounded."""
    bench = Nodes(dut, width)
    await bench.start()
    bench.silent.add(SLOW)
    bench.get(4 * GET_WINDOW * MTU, dest_id=SLOW)
    others = [node for node in NODES if node != SLOW]
    for k in range(3 * TAGS[width]):
        bench.get((GET_WINDOW + 3) * MTU if k < 3 else 3 * MTU, dest_id=others[k % len(others)])
    while len(bench.events.received) < 3 * TAGS[width]:
        await RisingEdge(dut.clk)
    assert 1 not in {event["tag"] for event in bench.events.received}
    assert len(bench.requests[SLOW]) == GET_WINDOW
    bench.let_go()
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def what_is_asked_for_is_bounded(dut: SimHandleBase, width: int) -> None:
    """With every node silent as many requests leave as may, of each node those of its first GET."""
    bench = Nodes(dut, width)
    await bench.start()
    bench.silent.update(NODES)
    in_hand = min(GETS_IN_HAND, TAGS[width])
    for k in range(GETS_IN_HAND + 2):
        bench.get((GET_WINDOW + 2) * MTU, dest_id=NODES[k % len(NODES)], remote_addr=SOURCE)
    await clock.cycles(dut, 4000)
    asked = sum(map(len, bench.requests.values()))
    most = min(min(in_hand, len(NODES)) * GET_WINDOW, REQUESTS_UNDER_WAY)
    dut._log.info("%d requests under way", asked)
    assert most <= asked <= most + (OVERSHOOT if most == REQUESTS_UNDER_WAY else 0), asked
    bench.let_go()
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(width=tuple(TAGS))
async def all_nodes_get_on(dut: SimHandleBase, width: int) -> None:
    """When the first GET has asked for all, those of other nodes are beyond half; a second one of its node waits."""
    bench = Nodes(dut, width, pause=0)
    await bench.start()
    n_fragments = 2 * GET_WINDOW
    nodes = NODES[:TAGS[width]]
    for node in (*nodes, nodes[0]):
        bench.get(n_fragments * MTU, dest_id=node, remote_addr=SOURCE)
    await bench.finish()
    asked: Counter[int] = Counter()
    for node in bench.order:
        asked[node] += 1
        if asked[node] == n_fragments:
            break
    assert min(asked[node] for node in nodes) > n_fragments // 2, asked
