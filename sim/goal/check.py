"""Checks a schedule before it runs: finds messages that nobody sends or receives, and waits in a circle.

Where receives take any source or any tag, or several messages of one tag are under way, who meets whom is known when it
runs only: what then stands still is found there (`sim.goal.run`).
"""

from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from typing import Any

import networkx as nx

from firmware_models.connections.trace.goal_text import ANY
from sim.goal.plan import GoalError, Plan

Key = tuple[int, int]
_FROM_ALL = ("barrier", "allreduce", "allgather", "alltoall", "reduce-scatter")
_FROM_ROOT = ("broadcast", "scatter")
_TO_ROOT = ("reduce", "gather")
_MOST_NAMED = 6


def check(plan: Plan, *, eager_bytes: int) -> None:
    """Refuses a schedule that cannot end.

    Parameters
    ----------
    eager_bytes : int
        Longer messages are sent when their receiver wants them.

    Raises
    ------
    GoalError
        With rank, label and line of what stays alone, or of a circle.
    """
    for rank in range(plan.n_ranks):
        _check_messages(plan, rank)
    _check_circles(plan, eager_bytes)


def _check_messages(plan: Plan, rank: int) -> None:
    """Each message to a rank can meet a receive of its own, and the other way round."""
    sends, receives = defaultdict(list), defaultdict(list)
    for number in plan.sends_to(rank):
        sends[plan.operations[number].rank, plan.operations[number].tag].append(number)
    for number in plan.of_kind(rank, "recv"):
        receives[plan.operations[number].peer, plan.operations[number].tag].append(number)
    if any(ANY in key for key in receives):
        met_sends, met_receives = _flows(sends, receives)
    else:
        met_sends = met_receives = {key: min(len(sends[key]), len(receives[key])) for key in {*sends, *receives}}
    for kind, other, keys, met in (
        ("send", f"received by rank {rank}", sends, met_sends), ("recv", "sent", receives, met_receives),
    ):
        for key, numbers in keys.items():
            if len(numbers) > met.get(key, 0):
                alone = plan.operations[numbers[met.get(key, 0)]]
                raise GoalError(f"{plan.name}:{alone.line}: every {kind} must be {other}, and {alone} is not: "
                                f"{met.get(key, 0)} of {len(numbers)} alike are")


def _flows(sends: dict[Key, list[int]], receives: dict[Key, list[int]]) -> tuple[dict[Key, int], dict[Key, int]]:
    """How many of each sort meet at most: a flow from sorts of sends to sorts of receives."""
    graph: nx.DiGraph[Any] = nx.DiGraph()
    graph.add_nodes_from(("begin", "end"))
    for sent, numbers in sends.items():
        graph.add_edge("begin", ("send", sent), capacity=len(numbers))
        for wanted in {(source, tag) for source in (sent[0], ANY) for tag in (sent[1], ANY)}:
            if wanted in receives:
                graph.add_edge(("send", sent), ("recv", wanted))
    for wanted, numbers in receives.items():
        graph.add_edge(("recv", wanted), "end", capacity=len(numbers))
    _, flow = nx.maximum_flow(graph, "begin", "end")
    return (
        {sent: flow["begin"].get(("send", sent), 0) for sent in sends},
        {wanted: flow.get(("recv", wanted), {}).get("end", 0) for wanted in receives},
    )


def _check_circles(plan: Plan, eager_bytes: int) -> None:
    """Begins and ends (2 n and 2 n + 1 of operation n) are in some order in which each follows what it waits for."""
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for number, after in enumerate(plan.waiting):
        sorter.add(2 * number + 1, 2 * number)
        for waiter, begin_only in after:
            sorter.add(2 * waiter, 2 * number + (not begin_only))
    for sent, received in _certain_pairs(plan):
        sorter.add(2 * received + 1, 2 * sent)
        if plan.operations[sent].amount > eager_bytes:
            sorter.add(2 * sent + 1, 2 * received)
    for together in plan.rounds:
        _add_round(sorter, plan, together)
    try:
        sorter.prepare()
    except CycleError as error:
        numbers = list(dict.fromkeys(moment // 2 for moment in reversed(error.args[1])))
        named = [str(plan.operations[number]) for number in numbers[:_MOST_NAMED]]
        more = [f"and {len(numbers) - _MOST_NAMED} more"] if len(numbers) > _MOST_NAMED else []
        line = plan.operations[numbers[0]].line
        raise GoalError(
            f"{plan.name}:{line}: operations must not wait for each other in a circle, as these do: "
            f"{'; '.join([*named, *more])}"
        ) from None


def _certain_pairs(plan: Plan) -> list[tuple[int, int]]:
    """Sends and receives that meet whatever happens: the only ones of their ranks and tag, and nobody takes any."""
    found = []
    for rank in range(plan.n_ranks):
        receives = defaultdict(list)
        for number in plan.of_kind(rank, "recv"):
            receives[plan.operations[number].peer, plan.operations[number].tag].append(number)
        if any(ANY in key for key in receives):
            continue
        sends = defaultdict(list)
        for number in plan.sends_to(rank):
            sends[plan.operations[number].rank, plan.operations[number].tag].append(number)
        found += [
            (numbers[0], receives[key][0]) for key, numbers in sends.items() if len(numbers) == len(receives[key]) == 1
        ]
    return found


def _add_round(sorter: TopologicalSorter[int], plan: Plan, together: list[int]) -> None:
    """Ends of a collective follow the begins whose data they need."""
    first = plan.operations[together[0]]
    root = together[int(first.words.get("root", 0))]
    for number in together:
        if first.kind in _FROM_ALL:
            sorter.add(2 * number + 1, *(2 * other for other in together))
        elif first.kind in _FROM_ROOT:
            sorter.add(2 * number + 1, 2 * root)
        elif first.kind in _TO_ROOT:
            sorter.add(2 * root + 1, 2 * number)
