"""`conic run` and `conic verify` from end to end: the RTL of a whole cluster, called as a script would."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firmware_models.golden import Reference, reference
from sim.selection import choose

Conic = Callable[..., Any]

ALGORITHMS = {
    "broadcast": "binomial", "reduce": "binomial", "allreduce": "recursive-doubling", "barrier": "dissemination",
}
ALLREDUCE = ("allreduce", "--algorithm", "recursive-doubling")
RUN_KEYS = {
    "collective", "algorithm", "nodes", "jobs", "bytes", "dtype", "op", "topology", "preset", "seed", "cycles",
    "goodput_fraction", "bound_fraction", "mismatched_bits", "sha256",
}


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("collective", ALGORITHMS)
def test_no_bit_differs(collective: str, nodes: int, conic: Conic) -> None:
    size = [] if collective == "barrier" else ["--size", "4KiB"]
    outcome = conic("run", collective, "--algorithm", ALGORITHMS[collective], "--nodes", str(nodes), *size, "--json")
    answer = json.loads(outcome.out)
    assert outcome.code == 0
    assert answer["mismatched_bits"] == 0
    assert set(answer) >= RUN_KEYS
    assert (answer["collective"], answer["nodes"]) == (collective, nodes)
    assert answer["bytes"] == (0 if collective == "barrier" else 4096)
    assert answer["cycles"] > 0


def test_arrays_in_and_out(conic: Conic, tmp_path: Path) -> None:
    """The data may hold NaN, infinities, subnormals and both zeros; they come through as NumPy has them."""
    rows = np.array([
        [1.5, np.nan, np.inf, np.inf, 5e-324, -0.0, 1e308, 0.1],
        [2.5, 1.0, -1.0, -np.inf, 5e-324, -0.0, 1e308, 0.2],
        [3.5, 2.0, 2.0, 1.0, -1.5e-323, -0.0, -1e308, 0.3],
    ])
    given, got = tmp_path / "x.npy", tmp_path / "y.npy"
    np.save(given, rows)
    outcome = conic("run", "reduce", "--algorithm", "binomial", "--root", "1", "--input", str(given),
                    "--output", str(got), "--json")
    answer = json.loads(outcome.out)
    assert (outcome.code, answer["bytes"], answer["nodes"], answer["dtype"]) == (0, 64, 3, "float64")
    results = np.load(got)
    # Root 1 is relative rank 0: it adds node 2, then node 0.
    with np.errstate(all="ignore"):
        expected = (rows[1] + rows[2]) + rows[0]
    assert np.isnan(results[1][[1, 3]]).all()
    comparable = ~np.isnan(expected)
    assert results[1][comparable].tobytes() == expected[comparable].tobytes()
    assert not results[[0, 2]].any()
    assert hashlib.sha256(results.tobytes()).hexdigest() == answer["sha256"]


def test_same_seed_same_answer(conic: Conic) -> None:
    arguments = ["run", "allreduce", "--algorithm", "recursive-doubling", "--nodes", "2", "--size", "64", "--json"]
    assert json.loads(conic(*arguments, "--seed", "7").out) == json.loads(conic(*arguments, "--seed", "7").out)
    assert json.loads(conic(*arguments, "--seed", "8").out)["sha256"] != \
        json.loads(conic(*arguments, "--seed", "7").out)["sha256"]


def test_table_trace_and_run_file(conic: Conic, tmp_path: Path) -> None:
    run_file, trace = tmp_path / "run.yaml", tmp_path / "trace.json"
    run_file.write_text("collective: broadcast\nalgorithm: binomial\nnodes: 2\nsize: 256\n")
    page = tmp_path / "t.html"
    outcome = conic("run", "--run-file", str(run_file), "--trace", str(trace), "--timeline", str(page))
    assert outcome.code == 0
    assert "<h1>broadcast, binomial, 2 nodes, 256 bytes</h1>" in page.read_text()
    assert [line.split() for line in outcome.out.splitlines() if "mismatched" in line] == [["mismatched", "bits", "0"]]
    events = json.loads(trace.read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {0, 1}
    assert any(event["ph"] == "X" and event["dur"] > 0 for event in events)


def one_bit_off(*args: Any, **kwargs: Any) -> Reference:
    """The golden reference with its lowest bit flipped at node 0: what a fault in the hardware would look like."""
    right = reference(*args, **kwargs)
    results = right.results.copy()
    results.view(np.uint64)[0, 0] ^= 1
    return Reference(results, right.receives)


def test_one_wrong_bit(conic: Conic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.operation.session.reference", one_bit_off)
    arguments = ["allreduce", "--algorithm", "recursive-doubling", "--nodes", "2", "--size", "64", "--json"]
    ran = conic("run", *arguments)
    assert (ran.code, json.loads(ran.out)["mismatched_bits"]) == (1, 1)
    verified = conic("verify", *arguments, "--orders", "2", "--workers", "1")  # others would not see the fault
    assert (verified.code, json.loads(verified.out)["mismatched_bits"]) == (1, 2)


def test_results_that_differ(conic: Conic, monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` names the first order whose bits are not those of order 0."""
    digests = iter(["a" * 64, "a" * 64, "b" * 64])
    monkeypatch.setattr("sim.collective.run.sha256", lambda _: next(digests))
    outcome = conic("verify", "reduce", "--algorithm", "binomial", "--nodes", "2", "--size", "64", "--orders", "3",
                    "--workers", "1", "--json")
    answer = json.loads(outcome.out)
    assert (outcome.code, answer["distinct_results"], answer["first_difference"]) == (1, 2, 2)
    assert outcome.err.endswith("conic verify: order 2 gave other bits than order 0\n")


@pytest.mark.long
def test_wires_that_damage_words(conic: Conic) -> None:
    """Not a bit of any result depends on it."""
    arguments = ["verify", "allreduce", "--algorithm", "recursive-doubling", "--nodes", "2", "--size", "4KiB",
                 "--orders", "4", "--json"]
    plain, damaged = conic(*arguments), conic(*arguments, "--frame-errors", "3e-3")
    assert (plain.code, damaged.code) == (0, 0)
    before, after = json.loads(plain.out), json.loads(damaged.out)
    assert after["sha256"] == before["sha256"]
    assert (before["damaged_words"], after["damaged_words"] > 50) == (0, True)


@pytest.mark.parametrize("bad", ["-1", "0.5", "nan", "many"])
def test_frame_errors_are_checked(bad: str, conic: Conic) -> None:
    outcome = conic("verify", "allreduce", "--nodes", "2", "--size", "64", "--frame-errors", bad)
    assert outcome.code == 2
    assert outcome.err.endswith(f"--frame-errors: must be a number of at least 0 and at most 0.1, not {bad!r}\n")


def test_failure_is_reported(conic: Conic, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that hangs is no bad input: exit code 1, the state on standard error, no traceback."""
    monkeypatch.setattr("sim.collective.run._cycle_budget", lambda _: 10)
    outcome = conic("run", "barrier", "--algorithm", "dissemination", "--nodes", "2", "--json")
    assert (outcome.code, outcome.out) == (1, "")
    assert "conic run: barrier did not end by cycle" in outcome.err


@pytest.mark.long
def test_waves(conic: Conic, tmp_path: Path) -> None:
    """All cycles, some of them, or none: then it says how many there were."""
    waves = tmp_path / "f.fst"
    arguments = ["run", "barrier", "--algorithm", "dissemination", "--nodes", "2", "--waves", str(waves), "--json"]
    outcome = conic(*arguments)
    assert outcome.code == 0
    whole = waves.stat().st_size
    assert whole > 1000
    begin = json.loads(outcome.out)["first_cycle"]
    assert conic(*arguments, "--waves-from", str(begin), "--waves-for", "20").code == 0
    assert 1000 < waves.stat().st_size < whole
    waves.unlink()
    late = conic(*arguments, "--waves-from", "1000000", "--waves-for", "20")
    assert (late.code, late.out, waves.exists()) == (2, outcome.out, False)
    last = late.err.splitlines()[-1]
    assert re.fullmatch(r"conic run: --waves-from: must be below \d+, the cycles of this run since reset, not 1000000: "
                        r"no waveform was written", last)


@pytest.mark.parametrize(("flags", "message"), [
    (["--waves-from", "5"], "--waves-from: needs --waves, the file to write, not 5 alone"),
    (["--waves-for", "5"], "--waves-for: needs --waves, the file to write, not 5 alone"),
    (["--waves", "f.fst", "--waves-for", "0"], "--waves-for: must be 1 to 1000000000000000, not 0"),
    (["--waves", "f.fst", "--waves-from", "-1"], "--waves-from: must be 0 to 1000000000000000, not -1"),
    (["--waves", "f.fst", "--waves-from", "1e3"], "--waves-from: must be 0 to 1000000000000000, not '1e3'"),
    (["--waves", "f.fst", "--board", "/dev/none"], "--board: has neither --waves nor --trace, --timeline"),
])
def test_waves_that_cannot_be(flags: list[str], message: str, conic: Conic) -> None:
    outcome = conic("run", *ALLREDUCE, "--nodes", "2", "--size", "64", *flags)
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"conic run: {message}\n")


def test_verify(conic: Conic) -> None:
    outcome = conic("verify", "reduce", "--algorithm", "binomial", "--nodes", "5", "--size", "256", "--orders", "5",
                    "--json")
    answer = json.loads(outcome.out)
    assert outcome.code == 0
    assert (answer["orders"], answer["distinct_results"], answer["mismatched_bits"]) == (5, 1, 0)
    assert len(answer["sha256"]) == 64


def test_hosts(conic: Conic, tmp_path: Path) -> None:
    """The same bits offloaded and by hosts; another host, another time."""
    host = tmp_path / "h.yaml"
    host.write_text("base: server\npcie:\n  one_way_ns: 1000\n")
    common = ["run", "allreduce", "--algorithm", "ring", "--nodes", "2", "--size", "256", "--json"]
    bare, server, far, by_hosts = (
        json.loads(conic(*common, *more).out)
        for more in ([], ["--host", "server"], ["--host", str(host)], ["--host", "server", "--host-based"])
    )
    assert {answer["sha256"] for answer in (bare, server, far, by_hosts)} == {bare["sha256"]}
    assert bare["cycles"] < server["cycles"] < min(far["cycles"], by_hosts["cycles"])
    assert "host" not in bare
    assert (far["host"], far["host_based"], by_hosts["host_based"]) == (str(host), False, True)
    assert server["microseconds"] == pytest.approx(server["cycles"] / 390.625)
    assert by_hosts["framing_fraction"] is None


@pytest.mark.parametrize(("flags", "message"), [
    (["--host", "laptop"], "host must be one of paper, server, not 'laptop'"),
    (["--host", "none.yaml"], "host file 'none.yaml'"),
    (["--algorithm", "reduce-multicast", "--host-based"], "algorithm of allreduce must be one without multicast"),
    (["--preset", "ulx3s_85f", "--host-based"], "nic.get must be true"),
    (["--board", "/dev/none", "--host", "paper"], "--host: is what a simulation assumes"),
])
def test_hosts_that_cannot_be(flags: list[str], message: str, conic: Conic) -> None:
    usual = [] if "--algorithm" in flags else ["--algorithm", "ring"]
    outcome = conic("run", "allreduce", *usual, "--nodes", "2", "--size", "256", *flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert [message in line for line in outcome.err.splitlines()][-1]


def test_faults(conic: Conic, tmp_path: Path) -> None:
    """A script of faults: what became of every job, in JSON; one that is wrong, or does not fit, is refused."""
    script = tmp_path / "faults.yaml"
    arguments = (*ALLREDUCE, "--nodes", "4", "--size", "64", "--faults", str(script))
    script.write_text("watchdog: 2000\nevents: [{kind: absent, node: 1}]\n")
    outcome = conic("run", *arguments, "--json")
    assert outcome.code == 0
    values = json.loads(outcome.out)
    assert (values["verdicts"], values["injected"]) == (["reported"], {"absent": 1})
    outcome = conic("verify", *arguments, "--orders", "2", "--json")
    assert json.loads(outcome.out)["verdicts"]["reported"] == 2
    for text, message in (
        ("events: [{kind: absent, node: 4}]", "events.0.node must be 0 to 3, not 4"),
        ("links: {lost: 2}", f"--faults: '{script}': links.lost must be less than or equal to 0.5, not 2"),
    ):
        script.write_text(text)
        for command in ("run", "verify"):
            outcome = conic(command, *arguments)
            assert (outcome.code, outcome.err) == (2, f"conic {command}: {message}\n")
    script.write_text("")
    for command, *flags in (("verify", "--frame-errors", "0.01"), ("run", "--host", "paper"), ("run", "--waves", "f")):
        outcome = conic(command, *arguments, *flags)
        assert (outcome.code, outcome.err.count("\n")) == (2, 1)
        assert "--faults: " in outcome.err


def test_algorithm_auto(conic: Conic) -> None:
    """The one that was fastest where it was measured; hosts have no multicast."""
    common = ["run", "broadcast", "--algorithm", "auto", "--nodes", "4", "--size", "8KiB", "--json"]
    answer = json.loads(conic(*common).out)
    assert (answer["algorithm"], answer["mismatched_bits"]) == (choose("broadcast", nodes=4, size=8192), 0)
    by_hosts = json.loads(conic(*common, "--host-based").out)
    assert by_hosts["algorithm"] == choose("broadcast", nodes=4, size=8192, multicast=False)
    assert "multicast" not in by_hosts["algorithm"]
    assert by_hosts["sha256"] == answer["sha256"]
