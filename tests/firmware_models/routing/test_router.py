"""Groups come and go: invariants after every operation, merging, deletion, saved state."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from firmware_models.routing.algorithm import (
    OldTrees,
    Options,
    Partner,
    Registrar,
    Router,
    figures,
    load_router,
    per_colour,
    save_router,
    violations,
)
from firmware_models.routing.algorithm.mr4lms import SUCCESSES
from firmware_models.routing.formats import mcfdbs_text
from firmware_models.routing.network import Groups, Network, RoutingError
from firmware_models.routing.pattern import parse_pattern
from firmware_models.routing.topology import parse_topology

KINDS = [Options(algorithm=name) for name in ("minihop", "sssp", "opensm-sssp")] + [
    Options(policy=policy, mft_size=size, partner=partner, old=old)
    for policy in ("paper", "best") for size, partner, old in (
        (None, Partner.SIMILAR, OldTrees.KEEP), (6, Partner.SIMILAR, OldTrees.KEEP),
        (3, Partner.SIMILAR, OldTrees.REBUILD), (3, Partner.SPARSE, OldTrees.KEEP),
        (1, Partner.SPARSE, OldTrees.REBUILD), (1, Partner.SIMILAR, OldTrees.KEEP))]


def ports_of(router: Router, name: str) -> set[tuple[int, int, tuple[int, ...]]]:
    """The table entries of a group: switch, colour, ports."""
    tree = router.groups[name].tree
    assert tree is not None
    return {(int(s), tree.colour, tuple(mask.tolist())) for s, mask in zip(tree.switches, tree.ports, strict=True)}


def name_of(options: Options) -> str:
    return "-".join(map(str, (options.algorithm, options.policy, options.mft_size, options.partner.value,
                              options.old.value)))


@pytest.mark.parametrize("options", KINDS, ids=name_of)
def test_joins_and_leaves(network: Network, options: Options, some_groups: Callable[..., Groups]) -> None:
    """All invariants hold after every step, and nothing is left when everybody has left."""
    router, generator = Router(network, options), np.random.default_rng(7)
    groups = some_groups(network, 11, 30)
    for name, members in zip(groups.names, groups.members, strict=True):
        router.join(name, members)
        assert violations(router.forest, router.groups) == []
        if generator.random() < 0.3:
            router.leave(str(generator.choice(list(router.groups))))
            assert violations(router.forest, router.groups) == []
    assert options.mft_size is None or figures(router)["max_tfi"] > 1 or options.mft_size > 3
    for name in list(router.groups):
        router.leave(name)
        assert violations(router.forest, router.groups) == []
    forest = router.forest
    assert not forest.trees
    assert not forest.by_colour
    assert not forest.busy.any()
    assert not forest.load.any()
    assert not forest.entries.any()


def test_disjoint_trees_share_a_colour() -> None:
    """Eight rows of hosts on eight switches: one colour; a colour for each with OpenSM."""
    network = parse_topology("fat-tree:4")
    rows = Groups.of([[2 * s, 2 * s + 1] for s in range(8)])
    for algorithm, colours in (("mr4lms", 1), ("minihop", 8)):
        router = Router(network, Options(algorithm=algorithm))
        list(router.join_all(rows))
        assert figures(router)["colours"] == colours


def test_switch_between_algorithms() -> None:
    """FBTC until it fails; FCTB then, until it has succeeded 20 times in a row (Algorithm 7)."""
    network = parse_topology("star:64")
    router = Router(network, Options(mft_size=1))
    engine = router.engine
    router.join("a", [0, 1])
    assert engine.is_building_first
    router.join("b", [2, 3])  # the one entry is taken: FBTC fails, and the two are merged
    assert not engine.is_building_first
    assert router.groups["a"].tree is router.groups["b"].tree
    for number in range(SUCCESSES - 1):
        router.join(f"c{number}", [0, 3])  # lies within the tree: FCTB succeeds
        assert (engine.is_building_first, engine.successes) == (False, number + 1)
    router.join("d", [1, 4])  # a new member: fails, and the count begins anew
    assert engine.successes == 0
    for number in range(SUCCESSES):
        assert not engine.is_building_first
        router.join(f"e{number}", [0, 4])
    assert engine.is_building_first
    assert violations(router.forest, router.groups) == []


def test_merging_keeps_old_routes() -> None:
    """With `keep`, every port that an old group had is still there after a merger; `rebuild` promises no such thing."""
    network = parse_topology("torus:5x5:1")
    for old in OldTrees:
        router, lost = Router(network, Options(mft_size=2, old=old)), 0
        for name, members in zip(*group_lists(network, 5, 20), strict=True):
            before = {group: ports_of(router, group) for group in router.groups}
            router.join(name, members)
            for group, entries in before.items():
                now = {(s, colour): mask for s, colour, mask in ports_of(router, group)}
                lost += any((s, colour) not in now or now[s, colour][0] & mask[0] != mask[0]
                            for s, colour, mask in entries)
        assert figures(router)["max_tfi"] > 1
        assert (lost == 0) if old is OldTrees.KEEP else (lost > 0)


def group_lists(network: Network, size: int, count: int) -> tuple[list[str], list[np.ndarray]]:
    generator = np.random.default_rng(3)
    names = [str(n) for n in range(count)]
    return names, [generator.choice(network.n_terminals, size, replace=False) for _ in range(count)]


def test_leaving_prunes() -> None:
    """Algorithm 6: what only the leaver needed goes, branch by branch; others' entries stay what they were."""
    network = parse_topology("fat-tree:4")
    router = Router(network, Options(mft_size=1))
    router.join("left", [0, 1])
    router.join("wide", [0, 1, 15])  # merged with it: the whole tree is shared
    wide = len(router.forest.trees[router.groups["wide"].tree.number].switches)
    router.leave("wide")
    tree = router.groups["left"].tree
    assert wide > len(tree.switches)
    assert tree.members.tolist() == [0, 1]
    # Towards the root only the path that the tree has kept: no switch below the root without a member beneath it.
    assert set(tree.switches[1:].tolist()) <= {0, *network.peer[tree.up[tree.up >= 0]].tolist()}
    assert violations(router.forest, router.groups) == []


def test_most_similar_is_merged() -> None:
    """Equation 1: of two trees the nearer one; the sparse variant takes the colour with fewer groups instead."""
    network = parse_topology("torus:12:1")
    for partner, expected in ((Partner.SIMILAR, "near"), (Partner.SPARSE, "far")):
        router = Router(network, Options(mft_size=1, partner=partner))
        router.join("near", [0, 1])
        router.join("far", [5, 6])
        router.join("new", [1, 2])
        if partner is Partner.SIMILAR:
            assert router.groups[expected].tree is router.groups["new"].tree
            assert router.groups["far"].tree is not router.groups["new"].tree
    router = Router(network, Options(mft_size=2, partner=Partner.SPARSE))
    router.join("a", [0, 1])          # colour 0
    router.join("b", [0, 1, 2])       # colour 1
    router.join("c", [5, 6])          # colour 0 again
    router.join("new", [1, 2])        # lies within b at first
    router.join("more", [1, 3])       # fits nowhere; both colours have two groups, and 0 is lower
    assert router.groups["more"].tree is router.groups["a"].tree
    assert violations(router.forest, router.groups) == []


@pytest.mark.parametrize("name", ["busy", "load", "entries", "ports", "members", "up", "colour", "groups", "height"])
def test_checker_finds_what_is_planted(name: str) -> None:
    """Each thing that the checker checks is broken once."""
    network = parse_topology("fat-tree:4")
    router = Router(network)
    list(router.join_all(parse_pattern("4x4", n_terminals=16)))
    forest, tree = router.forest, router.groups["1:0"].tree
    assert violations(forest, router.groups) == []
    match name:
        case "busy":
            forest.busy[0, 0] ^= np.uint64(1 << 40)
        case "load":
            forest.load[0] += 1
        case "entries":
            forest.entries[1] += 1
        case "ports":
            tree.ports[1] ^= np.uint64(1 << 1)
        case "members":
            tree.members = tree.members[1:]
        case "up":
            tree.up[-1] += 1
        case "colour":
            tree.colour = router.groups["1:1"].tree.colour
        case "groups":
            tree.groups.append("1:1")
        case "height":
            router.groups["0:0"].tree.switches[:] = router.groups["0:0"].tree.switches[::-1]
    assert violations(forest, router.groups)


@pytest.mark.parametrize("policy", ["paper", "best"])
def test_saved_state(tmp_path: Path, policy: str) -> None:
    """A router that is loaded has the same tables, and goes on as the one that was saved does."""
    network = parse_topology("fat-tree:4")
    groups = parse_pattern("4x2x2", n_terminals=16)
    whole = Router(network, Options(mft_size=3, policy=policy))
    list(whole.join_all(groups))
    first = Router(network, Options(mft_size=3, policy=policy))
    for name, members in list(zip(groups.names, groups.members, strict=True))[:9]:
        first.join(name, members)
    save_router(first, tmp_path / "state.npz")
    second = load_router(network, tmp_path / "state.npz")
    assert violations(second.forest, second.groups) == []
    for name, members in list(zip(groups.names, groups.members, strict=True))[9:]:
        second.join(name, members)
    assert mcfdbs_text(network, second.forest.tables()) == mcfdbs_text(network, whole.forest.tables())
    assert per_colour(second) == per_colour(whole)
    with pytest.raises(RoutingError, match="must be of network 'fat-tree:6': it was saved on another"):
        load_router(parse_topology("fat-tree:6"), tmp_path / "state.npz")
    (tmp_path / "bad.npz").write_bytes(b"no")
    with pytest.raises(RoutingError, match="must be a file that --save-state wrote"):
        load_router(network, tmp_path / "bad.npz")


def test_registrar() -> None:
    """A group is routed when its last member has joined, and removed when its last one has left; not in between."""
    router = Router(parse_topology("fat-tree:4"))
    registrar = Registrar(router)
    registrar.announce("g", 3)
    assert [registrar.join("g", member) for member in (0, 9, 4)] == [False, False, True]
    entries = ports_of(router, "g")
    assert [registrar.leave("g", member) for member in (9, 0)] == [False, False]
    assert ports_of(router, "g") == entries
    assert registrar.leave("g", 4)
    assert not router.groups
    for call, message in (
        (lambda: registrar.join("g", 1), "'g' must be announced before members join or leave"),
        (lambda: registrar.announce("e", 0), "size of group 'e' must be at least 1, not 0"),
    ):
        with pytest.raises(RoutingError, match=message):
            call()
    registrar.announce("h", 2)
    registrar.join("h", 1)
    with pytest.raises(RoutingError, match="endpoint 1 must join group 'h' once, not twice"):
        registrar.join("h", 1)
    with pytest.raises(RoutingError, match="endpoint 2 must be a member of group 'h' to leave it"):
        registrar.leave("h", 2)
    registrar.join("h", 2)
    with pytest.raises(RoutingError, match="group 'h' must have at most 2 members, as announced"):
        registrar.join("h", 3)
    with pytest.raises(RoutingError, match="group 'h' must be announced once, not twice"):
        registrar.announce("h", 2)


@pytest.mark.parametrize(("options", "message"), [
    ({"algorithm": "updn"}, "algorithm must be one of mr4lms, minihop, sssp, opensm-sssp, not 'updn'"),
    ({"policy": "good"}, "policy must be one of paper, best, not 'good'"),
    ({"mft_size": 0}, "mft_size must be 1 to 16383 or unlimited, not 0"),
    ({"algorithm": "minihop", "mft_size": 8}, "mft_size must be left out with algorithm 'minihop'"),
])
def test_options_refused(options: dict, message: str) -> None:
    with pytest.raises(RoutingError, match=message):
        Options(**options)


def test_groups_refused() -> None:
    router = Router(parse_topology("star:4"))
    router.join("g", [0, 1])
    with pytest.raises(RoutingError, match="group 'g' must join once, not twice"):
        router.join("g", [0, 1])
    with pytest.raises(RoutingError, match="member of group 'h' must be an endpoint from 0 to 4, not 5"):
        router.join("h", [0, 5])
    with pytest.raises(RoutingError, match="group 'h' must have joined before it can leave"):
        router.leave("h")


@pytest.mark.parametrize(("topology", "pattern"), [
    ("torus:6x5x4:2", "15x16"), ("dragonfly:a=6,p=3,h=3", "18x19"),
    ("random:switches=60,ports=10,terminals=5,seed=1", "20x15"),
    ("fat-tree:8", "10x12"), ("bluelight:planes=4,leaves=4,terminals=4,middles=4,tops=4,paths=2", "8x8"),
])
def test_best_is_never_worse(topology: str, pattern: str) -> None:
    """Neither in colours nor in EFI; and better in one of them by a tenth on the networks without levels."""
    network = parse_topology(topology)
    results = {}
    for policy in ("paper", "best"):
        router = Router(network, Options(policy=policy))
        list(router.join_all(parse_pattern(pattern, n_terminals=network.n_terminals)))
        assert violations(router.forest, router.groups) == []
        results[policy] = figures(router)
    best, paper = results["best"], results["paper"]
    assert best["colours"] <= paper["colours"]
    assert best["max_efi"] <= paper["max_efi"]
    if topology[0] in "tdr":
        assert best["colours"] <= 0.9 * paper["colours"] or best["max_efi"] <= 0.9 * paper["max_efi"]
