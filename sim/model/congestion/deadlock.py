"""Pauses that wait for each other: a cycle of full buffers that nothing dissolves.

A run that comes to rest with flows unfinished has one, or flows that wait for what never begins. What a paused port
waits for is known then: the packets that came in over its link wait at other ports of the switch, and those that are
paused wait on.
"""

import networkx as nx

from sim.model.congestion.core.records import NONE, State
from sim.model.congestion.network import Network


def waiting_cycle(state: State, network: Network) -> list[str]:
    """Ports of a cycle, each waiting for the next and the last for the first; empty if there is none.

    As ``switch 7 port 2 to switch 8``; ports count from 1 in the order of links.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    for q in range(network.n_ports):
        if not state.ports[q]["is_paused"] or not state.ports[q]["is_switch"]:
            continue
        place = int(state.ports[q]["data"])
        while place != NONE:
            ingress = int(state.packets[place]["ingress"])
            if state.ports[ingress ^ 1]["is_paused"]:
                graph.add_edge(ingress ^ 1, q)
            place = int(state.packets[place]["next"])
    try:
        cycle = nx.find_cycle(graph)
    except nx.NetworkXNoCycle:
        return []
    return [f"switch {network.node_of(p)} port {network.number_of(p)} to switch {network.node_of(p ^ 1)}"
            for p, _ in cycle]
