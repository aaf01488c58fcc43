"""Traces: patterns beside loops over coordinates, schedules beside their packets, files and what is wrong with them."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from firmware_models.connections import ConnectionsError
from firmware_models.connections.trace import (
    Trace,
    connection_set,
    parse_trace,
    peers,
    read_csv,
    read_goal,
    schedule_trace,
    trace_of,
)
from firmware_models.schedule import algorithm_names, build, collective_names


def messages(trace: Trace) -> list[tuple[int, int, int, int]]:
    """Phase, source, destination, bytes of all messages; as many as the trace says, in phases that do not go back."""
    found = [row for chunk in trace.chunks() for row in zip(*(column.tolist() for column in (
        chunk.phase, chunk.source, chunk.destination, chunk.n_bytes)), strict=True)]
    assert len(found) == trace.n_messages
    assert [row[0] for row in found] == sorted(row[0] for row in found)
    assert {row[0] for row in found} == set(range(trace.n_phases))
    return found


@pytest.mark.parametrize(("sizes", "shape", "is_periodic"), [
    ((5,), "star", False), ((4, 3), "star", True), ((3, 4, 2), "star", False), ((3, 1, 2), "star", True),
    ((3, 4), "box", False), ((3, 3, 3), "box", True), ((2, 2, 1, 3), "box", True),
])
def test_stencil(sizes: tuple[int, ...], shape: str, is_periodic: bool) -> None:
    expected = []
    for place in itertools.product(*map(range, sizes[::-1])):
        here = place[::-1]
        for step in itertools.product((-1, 0, 1), repeat=len(sizes)):
            if not any(step) or (shape == "star" and sum(map(abs, step)) > 1):
                continue
            there = [coordinate + move for coordinate, move in zip(here, step, strict=True)]
            if is_periodic:
                if any(move and size == 1 for move, size in zip(step, sizes, strict=True)):
                    continue
                there = [coordinate % size for coordinate, size in zip(there, sizes, strict=True)]
            if all(0 <= coordinate < size for coordinate, size in zip(there, sizes, strict=True)):
                ranks = [int(np.ravel_multi_index(where[::-1], sizes[::-1])) for where in (list(here), there)]
                expected.append((0, *ranks, 100))
    name = f"stencil:{'x'.join(map(str, sizes))},shape={shape},periodic={'yes' if is_periodic else 'no'},bytes=100"
    trace = parse_trace(f"{name},repeat=2", 100)
    assert sorted(messages(trace)) == sorted(expected + [(1, *row[1:]) for row in expected])


def test_all_to_all() -> None:
    """Along rows of both dimensions: every pair of a row once, in each phase one message from and to each process."""
    found = messages(parse_trace("alltoall:3x4", 12))
    rows = [[x + 3 * y for x in range(3)] for y in range(4)] + [[x + 3 * y for y in range(4)] for x in range(3)]
    assert sorted(row[1:3] for row in found) == sorted(pair for row in rows for pair in itertools.permutations(row, 2))
    for _, group in itertools.groupby(found, key=lambda row: row[0]):
        pairs = [row[1:3] for row in group]
        assert sorted(source for source, _ in pairs) == sorted(there for _, there in pairs) == list(range(12))


@pytest.mark.parametrize("processes", [262_143, 262_144, 262_145])
def test_random(processes: int) -> None:
    """At the boundary of a chunk: one message of everybody a phase, never to oneself, the same for a seed."""
    trace, other = (parse_trace(f"random:rounds=2,seed={seed}", processes) for seed in (7, 8))
    source, there = (np.concatenate([getattr(chunk, name) for chunk in trace.chunks()])
                     for name in ("source", "destination"))
    assert source.tolist() == [*range(processes)] * 2
    assert not np.any(source == there)
    assert 0 <= there.min() <= there.max() < processes
    again, different = (np.concatenate([chunk.destination for chunk in one.chunks()]) for one in (trace, other))
    assert np.array_equal(there, again)
    assert not np.array_equal(there, different)


@pytest.mark.parametrize(("which", "algorithm"), [
    (which, algorithm) for which in collective_names() for algorithm in algorithm_names(which)
])
@pytest.mark.parametrize("nodes", [2, 7, 8])
def test_schedules(which: str, algorithm: str, nodes: int) -> None:
    """Every schedule: its packets, and nobody sends before what its step waits for has been sent."""
    schedule = build(which, algorithm, n_nodes=nodes)
    found = messages(schedule_trace("s", schedule, 8 * 40))
    assert sorted(row[1:3] for row in found) == sorted((one.sender, one.receiver) for one in schedule.packets())
    assert found[0][0] == 0
    # Played again phase by phase: what is sent in a phase has been received by then.
    waiting = {rank: [(sender, step) for step, one in enumerate(sequence) for sender in one.receive_from]
               for rank, sequence in enumerate(schedule.sequences)}
    sends = {rank: [step for step, one in enumerate(sequence) for _ in one.targets]
             for rank, sequence in enumerate(schedule.sequences)}
    arrived: dict[tuple[int, int], int] = {}
    consumed: dict[tuple[int, int], int] = {}
    for _, group in itertools.groupby(found, key=lambda row: row[0]):
        sent = [row[1:3] for row in group]
        for sender, _ in sent:
            step = sends[sender].pop(0)
            while waiting[sender] and waiting[sender][0][1] <= step:
                source, _ = waiting[sender].pop(0)
                consumed[source, sender] = consumed.get((source, sender), 0) + 1
                assert consumed[source, sender] <= arrived.get((source, sender), 0)
        for pair in sent:
            arrived[pair] = arrived.get(pair, 0) + 1


@pytest.mark.parametrize(("name", "total"), [
    ("schedule:broadcast/binomial", 7 * 320), ("schedule:allgather/ring", 8 * 7 * 40),
    ("schedule:scatter/binomial", 4 * 40 * (1 + 2) + 4 * 40 * 1), ("schedule:barrier/dissemination", 0),
])
def test_bytes_of_schedules(name: str, total: int) -> None:
    """Eight ranks, 320 bytes: whole messages, or blocks of 40."""
    expected = total if "scatter" not in name else 160 + 2 * 80 + 4 * 40
    assert sum(row[3] for row in messages(parse_trace(f"{name},bytes=320", 8))) == expected


def test_connection_set() -> None:
    trace = trace_of("t", 5, *(np.array(column) for column in (
        [0, 3, 4, 2, 0], [3, 0, 1, 2, 3], [1, 1, 1, 1, 1], [2, 0, 0, 7, 7])))
    assert connection_set(trace).tolist() == [[0, 3], [1, 4]]
    assert peers(connection_set(trace), 5).tolist() == [1, 1, 0, 1, 1]
    assert messages(trace) == [(0, 3, 0, 1), (0, 4, 1, 1), (1, 0, 3, 1), (2, 2, 2, 1), (2, 0, 3, 1)]
    # More messages than are sorted at once.
    assert len(connection_set(parse_trace("alltoall", 1500))) == 1500 * 1499 // 2


GOAL = """// a pipeline, and what else the format has
num_ranks 3 /* three
ranks */
rank 0 {
  l1: calc 100 cpu 0
  l2: send 64b to 1 tag 7 cpu 0 nic 0
  l2 requires l1
}
rank 1 {
  a: recv 64b from 0 tag 7
  b: send 8 b to 2
  b irequires a
  recv 1b from -1 tag -1
}
rank 2 {
  x: recv 8b from 1
  y: send 1b to 1 tag 9 // back
  y requires x
  send 0b to 2
  recv 0b from 2
}
"""


def test_goal(tmp_path: Path) -> None:
    path = tmp_path / "t.goal"
    path.write_text(GOAL)
    assert messages(read_goal(path)) == [(0, 0, 1, 64), (0, 2, 2, 0), (1, 1, 2, 8), (2, 2, 1, 1)]
    assert connection_set(read_goal(path)).tolist() == [[0, 1], [1, 2]]
    assert parse_trace(str(path), 3).n_processes == 3
    assert parse_trace(str(path), 4).n_processes == 4
    with pytest.raises(ConnectionsError, match=r"^processes must be at least 3, the num_ranks of .*t.goal, not 2$"):
        parse_trace(str(path), 2)


@pytest.mark.parametrize(("line", "text", "message"), [
    (2, "num_ranks 0", "2: num_ranks must be 1 to 1073741824, not '0'"),
    (2, "", "8: statement must be num_ranks before the end of rank 0, not '}'"),
    (4, "rank 3 {", "4: rank must be 0 to 2, not '3'"),
    (9, "rank 0 {", "9: rank must be one that has not been described yet, not '0'"),
    (5, "l1: compute 100", "5: statement must be a statement: 'num_ranks N', 'rank R {', '}', 'l1: send 8b to R', "
                            "'l2: recv 8b from R', 'l3: calc N', 'l2 requires l1' or 'l2 irequires l1', "
                            "not 'l1: compute 100'"),
    (5, "l1: calc x", "5: calc must be 0 to 9223372036854775808, not 'x'"),
    (6, "l2: send 64b to 3", "6: rank must be 0 to 2, not '3'"),
    (6, "l2: send 64b to -1", "6: rank must be 0 to 2, not '-1'"),
    (6, "l2: send 64 to 1", "6: bytes must be a number followed by b, not '64'"),
    (6, "l2: send 64b from 1", "6: send must be followed by 'to' and a rank, not 'from 1'"),
    (6, "l2: send 4294967296b to 1", "6: bytes must be 0 to 4294967295, not '4294967296'"),
    (6, "l2: send 64b to 1 tag x", "6: tag must be -1 to 4294967296, not 'x'"),
    (6, "l2: send 64b to 1 prio 2", "6: option must be one of cpu, nic, tag and a number, not 'prio 2'"),
    (6, "l2: send 64b to 1 tag 8",
     "17: send must be met by a receive of rank 1 from 2 with tag 9, not 'none'"),  # line 13 takes any
    (7, "l2 requires l9", "7: label must be one that this rank has set before, not 'l9'"),
    (8, "", "9: statement must be '}' before the next rank, for rank 0 is open, not 'rank 1 {'"),
    (13, "recv 1b from 2 tag 8", "17: send must be met by a receive of rank 1 from 2 with tag 9, not 'none'"),
    (20, "recv 0b from 1", "19: send must be met by a receive of rank 2 from 2 with tag 0, not 'none'"),
    (19, "", "20: recv must be met by a send of rank 2 to 2 with tag 0, not 'none'"),
    (7, "l1 requires l2\nl2 requires l1",
     "6: dependencies must end, not go in a circle: this send never begins"),
    (21, "", "21: statement must be '}' at the end of rank 2, not 'end of file'"),
])
def test_wrong_goal(tmp_path: Path, line: int, text: str, message: str) -> None:
    """File, line, field, what is allowed and what stands there."""
    lines = GOAL.splitlines()
    if line == 2:
        lines[2] = ""
    lines[line - 1] = text
    path = tmp_path / "t.goal"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ConnectionsError) as refusal:
        read_goal(path)
    assert str(refusal.value) == f"{path}:{message}"


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("# made by hand\nphase, source,destination\n\n5,0,1\n2,3,0\n5,1,2\n")
    assert messages(read_csv(path, 4)) == [(0, 3, 0, 0), (1, 0, 1, 0), (1, 1, 2, 0)]
    path.write_text("source,destination,bytes\n0,3,4294967295\n")
    assert messages(parse_trace(str(path), 4)) == [(0, 0, 3, 4294967295)]


@pytest.mark.parametrize(("text", "message"), [
    (b"", "1: first line must name the columns source, destination, bytes, phase, not be missing"),
    (b"source,dest\n", "1: column must be one of source, destination, bytes, phase, not 'dest'"),
    (b"source,bytes\n", "1: columns must be destination and others, not 'source,bytes'"),
    (b"source,destination,source\n", "1: columns must be different, not 'source,destination,source'"),
    (b"source,destination\n0,4\n", "2: destination must be 0 to 3, not '4'"),
    (b"source,destination\n0,1\n-1,0\n", "3: source must be 0 to 3, not '-1'"),
    (b"source,destination\n0,x\n", "2: destination must be 0 to 3, not 'x'"),
    (b"source,destination\n0,1,2\n", "2: line must be 2 fields (source, destination), not '0,1,2'"),
    (b"source,destination,bytes\n0,1,4294967296\n", "2: bytes must be 0 to 4294967295, not '4294967296'"),
    (b"source,destination,phase\n0,1,-1\n", "2: phase must be 0 to 1099511627776, not '-1'"),
    (b"source,destination\n0,\xff\n", "2: text must be UTF-8, not 'byte 0xff'"),
])
def test_wrong_csv(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text)
    with pytest.raises(ConnectionsError) as refusal:
        read_csv(path, 4)
    assert str(refusal.value) == f"{path}:{message}"


@pytest.mark.parametrize(("name", "message"), [
    ("ring", "trace must be one of schedule:COLLECTIVE/ALGORITHM"), ("stencil", "trace must be one of "),
    ("stencil:0x2", "trace must be one of "), ("random:3", "trace must be one of "),
    ("stencil:5x4", "processes of stencil:5x4 must be 2 to 16, not 20"),
    ("stencil:1", "processes of stencil:1 must be 2 to 16, not 1"),
    ("stencil:1x1x2x1x1", "dimensions of stencil:1x1x2x1x1 must be 1 to 4, not 5"),
    ("alltoall:17", "processes of alltoall:17 must be 2 to 16, not 17"),
    ("alltoall,repeat=0", "trace 'alltoall,repeat=0': repeat must be 1 to 1000000, not '0'"),
    ("alltoall,bytes=4294967296", "trace 'alltoall,bytes=4294967296': bytes must be 0 to 4294967295, not '4294967296'"),
    ("stencil:4x4,shape=ring", "trace 'stencil:4x4,shape=ring': shape must be one of star, box, not 'ring'"),
    ("random:rounds=1,degree=2", "trace 'random:rounds=1,degree=2': option must be one of bytes, rounds, seed, "
                                 "not 'degree'"),
    ("alltoall:4,x", "option of alltoall must be KEY=VALUE, not 'x'"),
    ("alltoall:4,repeat=1,repeat=2", "option repeat of alltoall must be given once, not 'repeat=2'"),
    ("schedule:broadcast/star", "algorithm of broadcast must be one of "),
    ("schedule:broadcast/binomial,root=16",
     "trace 'schedule:broadcast/binomial,root=16': root must be 0 to 15, not '16'"),
    ("schedule:broadcast/binomial,bytes=12",
     "bytes of schedule:broadcast/binomial,bytes=12 must be a multiple of 8, not 12"),
    ("alltoall:16,repeat=1000000,bytes=1", None), ("random:rounds=1000000", None),
    ("stencil:4x4,shape=box,periodic=yes,repeat=1000000", None),
])
def test_names(name: str, message: str | None) -> None:
    if message is None:
        assert parse_trace(name, 16).n_messages <= 10**10
        return
    with pytest.raises(ConnectionsError) as refusal:
        parse_trace(name, 16)
    assert str(refusal.value).startswith(message)


def test_too_many_messages() -> None:
    with pytest.raises(ConnectionsError, match=r"^messages of alltoall must be at most 10000000000, not 999999000000$"):
        parse_trace("alltoall", 1_000_000)
