"""Schedules in GOAL on the RTL of NICs: every byte, times that can be added up by hand, and what stands still."""

import random
from pathlib import Path
from typing import Any

import pytest

import sim.goal
from firmware_models.config import Config
from sim.cluster import Cluster
from sim.goal import GoalError, GoalRequest, GoalResult, load_plan, run_goal
from sim.goal.example import example
from sim.goal.rank import Rank
from sim.host import Host, load_host, parse_host

HOSTS = {"paper": load_host("paper"), "server": load_host("server")}
PLAIN = parse_host("network:\n  clock_mhz: 1000\nmpi:\n  eager_bytes: 64\n  match_ns: 100", source="x")
"""A cycle is a nanosecond."""


def asked(small: Config, path: Path, text: str, *, host: Host = PLAIN, **more: Any) -> GoalRequest:
    file = path / "t.goal"
    file.write_text(text)
    plan = load_plan(file)
    return GoalRequest(**{
        "plan": plan, "config": small, "preset": "small", "topology": f"star:{max(plan.n_ranks, 2)}", "host": host,
        "host_name": "x", **more,
    })


def ran(small: Config, path: Path, text: str, **more: Any) -> tuple[GoalResult, dict[str, tuple[float, float]]]:
    """Returns the result, and when each operation with a label began and ended."""
    request = asked(small, path, text, **more)
    result = run_goal(request)
    assert result.mismatched_bits == 0
    labels = [f"{each.rank}.{each.label}" for each in request.plan.operations]
    return result, dict(zip(labels, result.moments, strict=True))


def refused(small: Config, path: Path, text: str, **more: Any) -> str:
    with pytest.raises(GoalError) as refusal:
        run_goal(asked(small, path, text, **more))
    message = str(refusal.value)
    assert "\n" not in message
    return message.removeprefix(f"{path / 't.goal'}:")


@pytest.mark.parametrize("host", HOSTS)
def test_every_byte(small: Config, tmp_path: Path, host: str) -> None:
    """Sizes around those from which on a message is carried otherwise, both ways at once."""
    eager = HOSTS[host].mpi.eager_bytes
    sizes = [0, 1, 7, 48, 49, 64, 65, eager - 1, eager, eager + 1, 3 * eager + 5]
    there, back = (
        "\n".join(f"{kind} {size}b {way} tag {tag}" for tag, size in enumerate(sizes))
        for kind, way in (("send", "to 1"), ("recv", "from 1"))
    )
    text = f"num_ranks 2\nrank 0 {{\n{there}\n{back}\n}}\nrank 1 {{\n" + \
        f"{there}\n{back}\n}}\n".replace("to 1", "to 0").replace("from 1", "from 0")
    result, _ = ran(small, tmp_path, text, host=HOSTS[host])
    assert (result.messages, result.bytes) == (2 * len(sizes), 2 * sum(sizes))


def test_a_wrong_byte_is_seen(small: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bit that changes in memory before the receiver looks."""
    received = Rank._received

    def spoilt(self: Rank, wanted: int, sent: int) -> None:
        self._memory[self._here.receives[wanted] + 7] ^= 4
        received(self, wanted, sent)

    monkeypatch.setattr(Rank, "_received", spoilt)
    result = run_goal(asked(small, tmp_path, TWO.format("send 200b to 1", "recv 200b from 0")))
    assert result.mismatched_bits == 1


def test_calculations(small: Config, tmp_path: Path) -> None:
    """One after the other on a cpu, side by side on several, after ends or after begins."""
    _, times = ran(small, tmp_path, """
num_ranks 2
rank 0 {
  a: calc 100
  b: calc 50
  c: calc 1000 cpu 1
  d: calc 500 cpu 1
  e: calc 30 cpu 2
  e requires c   // from 1000 on
  f: calc 10 cpu 3
  f irequires e  /* with it */
  g: calc 5
  g requires d
}
rank 1 { /* nothing
to do */
}
""")
    assert {label: times[f"0.{label}"] for label in "abcdefg"} == {
        "a": (0, 100), "b": (100, 150), "c": (0, 1000), "d": (1000, 1500), "e": (1000, 1030), "f": (1000, 1010),
        "g": (1500, 1505),
    }


def test_a_message_takes_what_hosts_and_network_take(small: Config, tmp_path: Path) -> None:
    """A short one: match, descriptor, doorbell at the sender; a way to the NIC, a way back, match at the receiver."""
    text = "num_ranks 2\nrank 0 {\ns: send 8b to 1\n}\nrank 1 {\nr: recv 8b from 0\n}\n"
    _, times = ran(small, tmp_path, text)
    cpu = PLAIN.cpu
    assert times["0.s"] == (0, 100 + cpu.post_ns + cpu.doorbell_ns)
    way = PLAIN.pcie.one_way_ns
    least = times["0.s"][1] + 2 * way + cpu.take_ns + 100
    assert least < times["1.r"][1] < least + 2 * way + 500  # the NIC reads the descriptor over PCIe
    slow = parse_host("network:\n  clock_mhz: 1000\npcie:\n  one_way_ns: 900\nmpi:\n  match_ns: 100", source="x")
    _, later = ran(small, tmp_path, text, host=slow)
    # Doorbell, read there and back, entry of the ring.
    assert later["1.r"][1] - times["1.r"][1] == pytest.approx(4 * (900 - way), abs=2 * cpu.poll_ns)


def test_a_long_message_waits_for_its_receiver(small: Config, tmp_path: Path) -> None:
    """The send ends when it has been read, and a short one at once."""
    for size, is_long in ((40, False), (64, False), (65, True)):
        sent, received = f"s: send {size}b to 1", f"c: calc 50000\nr: recv {size}b from 0\nr requires c"
        _, times = ran(small, tmp_path, TWO.format(sent, received))
        assert (times["0.s"][1] > 50_000) == is_long
        assert times["1.r"][0] == 50_000


def test_who_meets_whom(small: Config, tmp_path: Path) -> None:
    """Tags choose; any source and any tag take what is there; of one tag the first sent is the first received."""
    result, times = ran(small, tmp_path, """
num_ranks 3
rank 0 {
  a: send 8b to 2 tag 1
  b: send 16b to 2 tag 2
  c: send 24b to 2 tag 1
  b requires a
  c requires b
}
rank 1 {
  w: calc 30000
  d: send 32b to 2 tag 9
  d requires w
}
rank 2 {
  r2: recv 16b from 0 tag 2
  r1: recv 8b from 0 tag 1
  r3: recv 24b from -1 tag 1
  r4: recv 40b from -1 tag -1
}
""")
    assert result.messages == 4
    assert times["2.r4"][1] > 30_000 > times["2.r3"][1]


def test_what_came_first_is_received_first(small: Config, tmp_path: Path) -> None:
    """Of messages that were there before they were wanted: the second receive alone has room for the second."""
    sends = "a: send 8b to 1\nb: send 64b to 1\nb requires a\nc: send 200b to 1\nc requires b"
    receives = "w: calc 30000 cpu 1\nr1: recv 8b from 0\nr2: recv 64b from 0\nr3: recv 200b from 0\n" \
        "r1 requires w\nr2 requires r1\nr3 requires r2"
    assert ran(small, tmp_path, TWO.format(sends, receives))[0].messages == 3


def test_long_calculations_cost_nothing(small: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While NICs rest and processors calculate, time passes at once."""
    steps, run_for = [], Cluster.run_for

    def counted(self: Cluster, cycles: int) -> None:
        steps.append(cycles)
        run_for(self, cycles)

    monkeypatch.setattr(Cluster, "run_for", counted)
    sends = "a: calc 50000000 cpu 1\nb: send 8b to 1\nb requires a"
    result, _ = ran(small, tmp_path, TWO.format(sends, "recv 8b from 0"))
    assert result.cycles > 50_000_000
    assert len(steps) < 200


def test_collectives(small: Config, tmp_path: Path) -> None:
    """They stand among messages, wait for them, and are what the golden model says; by the NIC, so the host is free."""
    text = "num_ranks 4\n" + "".join(f"""rank {rank} {{
  c: calc {1000 * rank}
  l1: allreduce 64b op max dtype int64
  l1 requires c
  s: send 100b to {(rank + 1) % 4}
  r: recv 100b from {(rank - 1) % 4}
  l2: broadcast 4096b root 2 algorithm binomial
  l3: barrier
  l2 requires r
  e: calc 5
  e requires l3
}}
""" for rank in range(4))
    result, times = ran(small, tmp_path, text)
    assert (result.collectives, result.messages) == (3, 4)
    assert all(times[f"{rank}.l1"][1] > 3_000 for rank in range(4))
    assert all(times[f"{rank}.e"][0] >= max(times[f"{other}.l3"][0] for other in range(4)) for rank in range(4))


def random_schedule(seed: int) -> str:
    """Operations in a random order over all ranks, each of which may wait for earlier ones of its rank."""
    rng = random.Random(seed)
    n_ranks = rng.randint(2, 5)
    lines: list[list[str]] = [[] for _ in range(n_ranks)]
    labels: list[list[str]] = [[] for _ in range(n_ranks)]

    def add(rank: int, text: str) -> None:
        label = f"l{len(labels[rank])}"
        lines[rank].append(f"{label}: {text}")
        for other in rng.sample(labels[rank], min(len(labels[rank]), rng.randint(0, 2))):
            lines[rank].append(f"{label} {rng.choice(('requires', 'irequires'))} {other}")
        labels[rank].append(label)

    for number in range(40):
        if number % 14 == 13:
            for rank in range(n_ranks):
                add(rank, "allreduce 128b op sum")
            continue
        if rng.random() < 0.3:
            add(rng.randrange(n_ranks), f"calc {rng.randint(0, 3000)} cpu {rng.randint(0, 2)}")
            continue
        source, target = rng.sample(range(n_ranks), 2)
        size, tag = rng.choice((0, 8, 48, 49, 64, 65, 300, 5_000)), rng.randint(0, 3)
        # A rank that waits for nothing but what was sent before can always go on.
        add(source, f"send {size}b to {target} tag {10 * number + tag}")
        add(target, f"recv {size + rng.randint(0, 9)}b from {rng.choice((source, source, -1))} tag {10 * number + tag}")
    body = "".join(f"rank {rank} {{\n" + "\n".join(own) + "\n}\n" for rank, own in enumerate(lines))
    return f"num_ranks {n_ranks}\n{body}"


@pytest.mark.parametrize("seed", [1, 2, 12, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(13, 33))])
def test_random_schedules(small: Config, tmp_path: Path, seed: int) -> None:
    """All ends, and nothing begins before what it waits for has."""
    request = asked(small, tmp_path, random_schedule(seed), host=HOSTS[("paper", "server")[seed % 2]])
    result = run_goal(request)
    assert result.mismatched_bits == 0
    for number, after in enumerate(request.plan.waiting):
        for waiter, begin_only in after:
            assert result.moments[waiter][0] >= result.moments[number][0 if begin_only else 1]
    assert result.messages == sum(each.kind == "send" for each in request.plan.operations)
    assert result == run_goal(request)


def test_the_example() -> None:
    """The file beside the generator is its own."""
    assert Path(sim.goal.__file__).with_name("example.goal").read_text() == example()
    assert example(n_ranks=8).count("rank ") == 8


TWO = "num_ranks 2\nrank 0 {{\n{}\n}}\nrank 1 {{\n{}\n}}\n"


@pytest.mark.parametrize(("zero", "one", "message"), [
    ("l1: send 8b to 1", "calc 1",
     "3: every send must be received by rank 1, and rank 0 l1 (line 3): send 8b to 1 tag 0 is not: 0 of 1 alike are"),
    ("calc 1", "l2: recv 8b from 0 tag 4",
     "6: every recv must be sent, and rank 1 l2 (line 6): recv 8b from 0 tag 4 is not: 0 of 1 alike are"),
    ("send 8b to 1 tag 1", "recv 8b from -1\nrecv 8b from -1 tag -1",
     "6: every recv must be sent, and rank 1 recv (line 6): recv 8b from any tag 0 is not: 0 of 1 alike are"),
    ("l1: calc 1\nl2: calc 2\nl1 requires l2\nl2 requires l1", "calc 1",
     "3: operations must not wait for each other in a circle, as these do: rank 0 l1 (line 3): calc 1; "
     "rank 0 l2 (line 4): calc 2"),
    ("l1: recv 8b from 1\nl2: send 8b to 1\nl2 requires l1", "l3: recv 8b from 0\nl4: send 8b to 0\nl4 requires l3",
     "in a circle, as these do: rank 0 l1 (line 3): recv 8b from 1 tag 0"),
    # Long messages wait for their receivers.
    ("l1: send 65b to 1\nl2: recv 65b from 1\nl2 requires l1", "l3: send 65b to 0\nl4: recv 65b from 0\nl4 requires l3",
     "in a circle, as these do: rank 0 l1 (line 3): send 65b to 1 tag 0"),
    ("l1: barrier\nl2: send 8b to 1\nl2 requires l1", "l3: recv 8b from 0\nl4: barrier\nl4 requires l3",
     "3: operations must not wait for each other in a circle, as these do: rank 0 l1 (line 3): barrier 0b; rank 1 l4"),
    ("l1: barrier", "calc 1",
     "3: collectives must be called by all ranks: rank 1 has none for rank 0 l1 (line 3): barrier 0b"),
    ("l1: allreduce 8b", "l2: allreduce 16b",
     "6: collectives must be the same at all ranks, in the same order: rank 1 l2 (line 6): allreduce 16b is not "
     "rank 0 l1 (line 3): allreduce 8b"),
    ("allreduce 9b", "allreduce 9b", "3: size must be a positive multiple of 8 bytes (float64), not 9"),
    ("allreduce 8b op mean", "allreduce 8b op mean", "3: op must be one of"),
    ("broadcast 8b algorithm multicast", "broadcast 8b algorithm multicast",
     "algorithm of broadcast must be one without"),
    ("gossip 8b", "calc 1", "3: statement must be a statement: "),
    ("allreduce 8", "calc 1", "3: bytes must be a number followed by b, not '8'"),
    ("allreduce 8b rot 1", "calc 1",
     "3: option must be one of root, op, dtype, algorithm, cpu and a word, not 'rot 1'"),
    # Only known when it runs.
    ("l1: send 16b to 1", "l2: recv 8b from 0",
     "6: recv must have room for what comes, and rank 1 l2 (line 6): recv 8b from 0 tag 0 has none for rank 0 l1 "
     "(line 3): send 16b to 1 tag 0"),
    ("l1: recv 8b from -1\nl2: send 8b to 1\nl2 requires l1",
     "l3: recv 8b from -1\nl4: send 8b to 0\nl4 requires l3",
     "3: every operation must end, and nothing moves any more while these wait: rank 0 l1 (line 3): recv 8b from any "
     "tag 0; rank 0 l2 (line 4): send 8b to 1 tag 0; rank 1 l3 (line 8): recv 8b from any tag 0; rank 1 l4 (line 9): "
     "send 8b to 0 tag 0"),
])
def test_what_cannot_end(small: Config, tmp_path: Path, zero: str, one: str, message: str) -> None:
    """It is refused, and named by rank, label and line; nothing hangs."""
    assert message in refused(small, tmp_path, TWO.format(zero, one))


def test_what_only_short_messages_can(small: Config, tmp_path: Path) -> None:
    """The same circle of sends is none if they need not wait."""
    ran(small, tmp_path, TWO.format("l1: send 64b to 1\nl2: recv 64b from 1\nl2 requires l1",
                                    "l3: send 64b to 0\nl4: recv 64b from 0\nl4 requires l3"))


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    path.write_bytes(b"\x04\x00\x00\x00")
    with pytest.raises(GoalError, match=r"must be GOAL in its text form, not binary: .*txt2bin"):
        load_plan(path)


def test_what_does_not_fit(small: Config, tmp_path: Path) -> None:
    big = TWO.format("send 4000000000b to 1\n" * 9, "recv 4000000000b from 0\n" * 9)
    assert "messages and collectives of a rank must take at most" in refused(small, tmp_path, big)
    with pytest.raises(GoalError, match=r"nic\.get must be true"):
        asked(small.changed(nic={"get": False}), tmp_path, TWO.format("calc 1", "calc 1"))
