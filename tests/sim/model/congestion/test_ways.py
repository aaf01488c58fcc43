"""Ways between hosts, found for switches, are those that a search from every host finds; set-up scales with them."""

import random
import time
from collections import deque

import pytest

from sim.model.congestion import CongestionError, Flow, Link, Network, defaults
from sim.model.congestion.network import NS_A_SECOND, Pair
from sim.model.congestion.prepare import check_run, prepare

RATES = (10 * 10**9, 25 * 10**9, 100 * 10**9)


def drawn(seed: int) -> Network:
    """Hosts and switches in any order, several ways between many, links of several kinds, some of them parallel."""
    numbers = random.Random(seed)
    n_switches, n_hosts = numbers.randint(1, 7), numbers.randint(2, 12)
    names = list(range(n_switches + n_hosts))
    numbers.shuffle(names)
    switches, hosts = names[:n_switches], names[n_switches:]

    def link(a: int, b: int) -> Link:
        return Link(*numbers.sample((a, b), 2), numbers.choice(RATES), numbers.choice((500, 1000, 3330)))

    links = [link(switch, numbers.choice(switches[:k])) for k, switch in enumerate(switches) if k]
    if n_switches > 1:
        links += [link(*numbers.sample(switches, 2)) for _ in range(numbers.randint(0, 8))]
    links += [link(host, numbers.choice(switches)) for host in hosts]
    numbers.shuffle(links)
    return Network(len(names), switches, links, f"drawn {seed}")


def pairs_from(network: Network, host: int, payload: int) -> dict[int, Pair]:
    """All other hosts, by the first of the shortest ways: a search from every host."""
    found, hops = {host: Pair(0, 0, 1 << 62)}, {host: 0}
    waiting = deque([host])
    while waiting:
        node = waiting.popleft()
        here = found[node]
        for port in network.ports_of[node]:
            peer, link = network.node_of(port ^ 1), network.links[port // 2]
            if peer not in found:
                hops[peer] = hops[node] + 1
                found[peer] = Pair(here.delay_ns + link.delay_ns,
                                   here.transmission_ns + payload * 8 * NS_A_SECOND // link.rate,
                                   min(here.rate, link.rate))
                if peer in network.switches:
                    waiting.append(peer)
    assert all(network.hops(host, other) == hops[other] for other in network.hosts if other != host)
    return {node: pair for node, pair in found.items() if node != host and node not in network.switches}


@pytest.mark.parametrize("payload", [64, 1000])
@pytest.mark.parametrize("seed", range(40))
def test_as_from_every_host(seed: int, payload: int) -> None:
    network = drawn(seed)
    found = {(a, b): pair for a in network.hosts for b, pair in pairs_from(network, a, payload).items()}
    assert {ends: network.pair(*ends, payload) for ends in found} == found
    assert network.largest_round_trip(payload) == (
        max(pair.round_trip_ns for pair in found.values()),
        max(pair.round_trip_ns * pair.rate // NS_A_SECOND // 8 for pair in found.values()),
    )
    for (a, b) in found:
        ports = network.path(a, b, key=seed)
        nodes = [network.node_of(port) for port in ports] + [network.node_of(ports[-1] ^ 1)]
        assert nodes[0] == a
        assert nodes[-1] == b
        assert len(ports) == network.hops(a, b)
        assert all(network.node_of(port ^ 1) == there for port, there in zip(ports, nodes[1:], strict=True))


def test_two_hosts_without_a_switch() -> None:
    network = Network(2, [], [Link(0, 1, RATES[0], 700)], "pair")
    assert network.largest_round_trip(1000) == (1400 + 800, 2200 * 10 // 8)
    assert network.path(1, 0, key=3) == [1]


def lopsided(n: int) -> Network:
    """`n` hosts at one switch, two at another."""
    kind = (100 * 10**9, 3330)
    return Network(n + 4, [n, n + 1], [*(Link(k, n, *kind) for k in range(n)), Link(n, n + 1, *kind),
                                       Link(n + 1, n + 2, *kind), Link(n + 1, n + 3, *kind)], "lopsided")


def test_thousands_of_hosts() -> None:
    """Set-up of one flow, and of a flow from every host: two seconds of CPU each would be slow."""
    network = lopsided(4000)
    parameters = defaults("hpcc", network.host_rate, buffer=2 << 30)
    for flows in ([Flow(0, 4002, 2, 0)], [Flow(host, 4002 + host % 2, 2, 0) for host in range(4000)]):
        began = time.process_time()
        prepare(network, flows, parameters, seed=1)
        assert time.process_time() - began < 4


def test_refusals_come_before_the_work() -> None:
    network = lopsided(4000)
    network.largest_round_trip = None  # type: ignore[method-assign, assignment]
    with pytest.raises(CongestionError, match=r"^buffer: must be above 516012971 bytes, which the 4001 ports"):
        check_run(network, [Flow(0, 4002, 2, 0)], defaults("hpcc", network.host_rate))
