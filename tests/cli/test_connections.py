"""`conic connections`: what scripts rely on, formulas and runs, bad input in one line."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim.cli.command import connections

Conic = Callable[..., Any]


def test_formulas(conic: Conic) -> None:
    """The example of section 4.2, with the paper's group size; all schemes in one table."""
    outcome = conic("connections", "--processes", "320000", "--cores", "4", "--group-size", "4096", "--json")
    assert outcome.code == 0
    values = json.loads(outcome.out)
    assert values["nodes"] == 80_000
    rows = {row["scheme"]: row for row in values["schemes"]}
    assert list(rows) == connections.NAMES
    assert (rows["group-xrc"]["queue_pairs"], rows["group-xrc"]["process_mb"]) == (1102, 10.22656)
    assert rows["group-xrc"]["node_mb"] == pytest.approx(4 * 10.22656)
    assert rows["rc"]["queue_pairs"] == 319_999


def test_sizes(conic: Conic) -> None:
    """Every size and depth counts: RC and XRC_M of table 1, and a receive queue that is never shorter than 8,192."""
    base = "connections --processes 8000 --cores 8 --buffer-size 8000 --json"

    def megabytes(flags: str) -> float:
        return json.loads(conic(*shlex.split(f"{base} {flags}")).out)["schemes"][0]["process_mb"]

    assert megabytes("--scheme rc") == pytest.approx(336.342, abs=0.001)
    assert megabytes("--scheme xrc-sizes") == pytest.approx(3.713)
    assert megabytes("--scheme xrc-sizes --size-classes 2") == pytest.approx(1000 * (6000 + 1088) / 1e6)
    assert megabytes("--scheme rc --receive-buffers 6 --receive-depth 32 --send-depth 8 --work-request-size 128") \
        == pytest.approx(7999 * (6 * 8000 + 40 * 128) / 1e6)
    assert megabytes("--scheme xrc --srq-depth 8192") == pytest.approx((1000 * 1024 + 8192 * 8064) / 1e6)


def test_best_group_size(conic: Conic) -> None:
    values = json.loads(conic("connections", "--processes", "320000", "--cores", "4", "--scheme", "group-xrc,group",
                              "--json").out)
    assert [(row["group_size"], row["queue_pairs"]) for row in values["schemes"]] == [(1168, 565), (584, 1130)]


def test_run(conic: Conic) -> None:
    """Static, dynamic and proxied messages add up; policies do what they say; the NIC's side stands beside it."""
    base = "connections stencil:8x8x8,repeat=2 --processes 512 --cores 4 --scheme group-xrc --group-size 32 --json"

    def row(flags: str) -> dict[str, Any]:
        outcome = conic(*shlex.split(f"{base} {flags}"))
        assert outcome.code == 0
        values = json.loads(outcome.out)
        assert values["violations"] == 0
        (found,) = values["schemes"]
        assert found["self"] + found["static"] + found["dynamic"] + found["proxied"] == found["messages"] == 5376
        assert found["opened"] == found["closed"]
        assert (found["static_queue_pairs"], found["formula_queue_pairs"]) == (23, 23)
        return found | {"nic": values["nic"]}

    plain = row("")
    assert plain["handshakes"] > 0 == plain["proxied"]
    assert row("--idle-phases 0")["handshakes"] == 2 * plain["handshakes"]
    assert row("--proxy all")["handshakes"] == 0 < row("--proxy all")["relayed_max"]
    assert 0 < row("--proxy 1")["proxied"] < row("--proxy all")["proxied"]
    slow = row("--message-ns 4000 --queue-pair-ns 0")
    assert slow["waited_ms"] == pytest.approx(plain["handshakes"] * 4 * 4000 / 1e6)
    assert (plain["nic"]["vps"], plain["nic"]["max_vps"], plain["nic"]["is_enough"]) == (4, 2048, True)
    assert row("--preset small")["nic"]["max_vps"] == 16


def test_evictions(conic: Conic) -> None:
    base = "connections random:rounds=4,seed=3 --processes 64 --scheme group --group-size 8 --json"
    free, one = (json.loads(conic(*shlex.split(f"{base} {flags}")).out)["schemes"][0]
                 for flags in ("", "--max-dynamic 1"))
    assert free["evictions"] == 0 < one["evictions"]
    assert one["queue_pairs"] == one["static_queue_pairs"] + 1 < free["queue_pairs"]


def test_compare(conic: Conic) -> None:
    values = json.loads(conic(*shlex.split(
        "connections alltoall:8x8 --processes 64 --scheme group,rc --group-size compare --json")).out)
    sizes = [row["group_size"] for row in values["schemes"]]
    assert sizes == [1, 2, 4, 8, 16, 32, 64, None]
    assert any(row["is_best"] for row in values["schemes"])
    (whole,) = (row for row in values["schemes"] if row["group_size"] == 8)
    assert whole["handshakes"] == 0  # rows of 8 are groups, columns their counterparts
    assert whole["is_best"]


def test_files(conic: Conic, tmp_path: Path) -> None:
    """Traces from files; a wrong line is named with its file."""
    good, bad = tmp_path / "t.csv", tmp_path / "bad.goal"
    good.write_text("source,destination,bytes\n0,5,100\n5,0,100\n")
    bad.write_text("num_ranks 2\nrank 0 {\nsend 1b to 2\n}\n")
    outcome = conic("connections", str(good), "--processes", "8", "--scheme", "group", "--group-size", "2", "--json")
    assert json.loads(outcome.out)["schemes"][0]["handshakes"] == 1
    outcome = conic("connections", str(bad), "--processes", "8")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"conic connections: {bad}:3: rank must be 0 to 1, not '2'" in outcome.err.splitlines()


def test_table(conic: Conic) -> None:
    outcome = conic("connections", "stencil:4x4", "--processes", "16", "--scheme", "group", "--group-size", "4")
    assert outcome.code == 0
    assert "handshakes" in outcome.out
    assert "this NIC (paper), without connections:" in outcome.out


def test_violations(conic: Conic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Violations are reported, and the exit code is 1."""
    monkeypatch.setattr(connections, "violations", lambda run, seed: ["queue pairs torn down must be 2, not 1"])
    outcome = conic("connections", "stencil:4x4", "--processes", "16", "--scheme", "group", "--json")
    assert outcome.code == 1
    assert "conic connections: group: queue pairs torn down must be 2, not 1" in outcome.err
    assert json.loads(outcome.out)["violations"] == 1


@pytest.mark.parametrize(("line", "message"), [
    ("", "--processes: is required"),
    ("--processes 1", "--processes: must be 2 to 1073741824, not 1"),
    ("--processes 1073741825", "--processes: must be 2 to 1073741824, not 1073741825"),
    ("--processes 8 --cores 0", "--cores: must be 1 to 4096, not 0"),
    ("--processes 8 --cores 4097", "--cores: must be 1 to 4096, not 4097"),
    ("--processes 8 --scheme ud",
     "--scheme: must be all or some of rc, rc-srq, xrc, xrc-sizes, group, group-xrc, group-xrc-sizes, not 'ud'"),
    ("--processes 8 --group-size x", "--group-size: must be a number of processes, best or compare, not 'x'"),
    ("--processes 8 --group-size compare", "--group-size: compare needs TRACE: the messages to compare them for"),
    ("--processes 8 --cores 4 --group-size 6 --scheme group-xrc",
     "group_size must be a multiple of 4, the cores of a node, for group-xrc, not 6"),
    ("--processes 8 --group-size 9 --scheme group", "group_size must be 1 to 8, not 9"),
    ("--processes 8 --buffer-size 0", "buffer_bytes must be 1 to 1073741824, not 0"),
    ("--processes 8 --receive-buffers 16", "receive_depth must be 17 to 65536, above n_receive_buffers, not 16"),
    ("--processes 8 --send-depth 65537", "send_depth must be 1 to 65536, not 65537"),
    ("--processes 8 --work-request-size 32", "work_request_bytes must be 64 to 4096, not 32"),
    ("--processes 8 --size-classes 0", "n_size_classes must be 1 to 16, not 0"),
    ("--processes 8 --srq-depth 0", "srq_depth must be 1 to 1048576, not 0"),
    ("--processes 8 --proxy some", "--proxy: must be a whole number or all, not 'some'"),
    ("--processes 8 --max-dynamic 0", "max_dynamic must be 1 to 1073741824, not 0"),
    ("--processes 8 --message-ns -1", "--message-ns: must be a number of at least 0, not '-1'"),
    ("--processes 8 --preset ulx3s_85f stencil:2x2x2", "nic.p2p must be true for the messages of a trace, not False"),
    ("--processes 8 --preset large",
     "preset must be one of ecpix5_85f, paper, small, ulx3s_85f, versa_ecp5_5g, not 'large'"),
    ("nowhere.csv --processes 8", "'nowhere.csv': No such file or directory"),
    ("stencil:3x3 --processes 8", "processes of stencil:3x3 must be 2 to 8, not 9"),
])
def test_refused(conic: Conic, line: str, message: str) -> None:
    outcome = conic("connections", *shlex.split(line))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"conic connections: {message}\n"
