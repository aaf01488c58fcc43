"""Collectives while things go wrong: what becomes of both jobs, by fault."""

from collections import Counter

import pytest

from firmware_models.config import Config
from sim.faults import FaultOutcome, Verdict, parse_faults, run_with_faults
from sim.faults.run import _verdict
from sim.operation.request import CollectiveRequest


def outcome(small: Config, script: str, *, size: int = 1024, order: int = 0) -> FaultOutcome:
    """Two jobs of four nodes under a script."""
    request = CollectiveRequest(
        collective="allreduce", algorithm="recursive-doubling", nodes=4, size=size, jobs=2, config=small,
        preset="small",
    )
    return run_with_faults(request, parse_faults(script), order=order)


def test_nothing_goes_wrong(small: Config) -> None:
    found = outcome(small, "")
    assert (found.verdicts, found.injected) == ([Verdict.CORRECTED] * 2, {})


@pytest.mark.parametrize(("script", "injected"), [
    ("events: [{kind: slow_host, node: 0, at: 10, cycles: 2000, extra: 700}]", "late_answers"),
    ("events: [{kind: full_completions, node: 0, cycles: 4000}]", "full_completions"),
])
def test_what_hosts_do_late_changes_nothing(small: Config, script: str, injected: str) -> None:
    found = outcome(small, script)
    assert found.verdicts == [Verdict.CORRECTED] * 2
    assert found.injected[injected] >= 1
    assert found.cycles > 1500


def test_a_process_that_stops(small: Config) -> None:
    """Its job ends in TIMEOUT at all others; the other job does not notice."""
    found = outcome(small, "{watchdog: 3000, events: [{kind: absent, node: 1}]}")
    assert found.verdicts == [Verdict.REPORTED, Verdict.CORRECTED]
    assert found.statuses[0] == {0: "TIMEOUT", 2: "TIMEOUT", 3: "TIMEOUT"}
    assert found.cycles < 3 * 3000
    assert found.again == "as new"


def test_a_descriptor_that_cannot_be_read(small: Config) -> None:
    found = outcome(small, "{watchdog: 3000, events: [{kind: read_error, node: 1, response: DECERR}]}")
    assert found.injected == {"read_errors": 1}
    assert sorted(found.verdicts, key=lambda verdict: verdict.value) == [Verdict.CORRECTED, Verdict.REPORTED]
    assert "MEMORY_ERROR" in {job[1] for job in found.statuses}


def test_completions_that_host_memory_refuses(small: Config) -> None:
    """The NIC counts what it has written, so the host can know that one is missing."""
    found = outcome(small, "{watchdog: 1000, events: [{kind: write_error, node: 0, count: 100000}]}")
    assert found.verdicts == [Verdict.COUNTED] * 2
    assert [job[0] for job in found.statuses] == [None, None]
    assert found.counters["completions"] == 8


def test_operands_that_cannot_be_read(small: Config) -> None:
    """Whoever took data from them hears of it."""
    ends = set()
    for cycle in range(300, 1500, 200):
        found = outcome(small, f"{{watchdog: 3000, events: [{{kind: read_error, node: 2, at: {cycle}}}]}}", size=4096)
        assert Verdict.WRONG not in found.verdicts
        ends |= {status for job in found.statuses for status in job.values()}
    assert {"MEMORY_ERROR", "PEER_ERROR"} <= ends <= {"OK", "MEMORY_ERROR", "PEER_ERROR"}


@pytest.mark.long
@pytest.mark.parametrize("memory", ["tag", "header", "payload"])
def test_one_bit_of_a_packet_buffer(small: Config, memory: str) -> None:
    found = outcome(small, f"events: [{{kind: bit_flip, node: 1, at: 300, memory: {memory}}}]")
    assert found.verdicts == [Verdict.CORRECTED] * 2
    assert found.counters["buffer_corrected"] == 1


@pytest.mark.long
def test_two_bits_of_a_payload(small: Config) -> None:
    found = outcome(small, "events: [{kind: bit_flip, node: 1, memory: payload, bits: 2, first_bit: 52}]", size=4096)
    assert "BUFFER_ERROR" in {job[1] for job in found.statuses}
    assert Verdict.WRONG not in found.verdicts


@pytest.mark.long
def test_a_link_that_is_down_for_good(small: Config) -> None:
    """Every node reports it, for both jobs; those whose packets cannot leave, too. When it is whole again all jobs work
    as new: what was thrown away is written off."""
    script = "{watchdog: 3000, events: [{kind: link_down, node: 1, at: 500}]}"
    found = outcome(small, script, size=4096)
    assert found.verdicts == [Verdict.REPORTED] * 2
    assert found.counters["tx_lost"] > 0
    assert found.link_counters["link_falls"] >= 2, "both ends"
    assert found.again == "as new"


@pytest.mark.long
def test_a_node_that_stops(small: Config) -> None:
    found = outcome(small, "{watchdog: 3000, events: [{kind: stop, node: 2, at: 500}]}", size=4096)
    assert found.verdicts == [Verdict.REPORTED] * 2


@pytest.mark.parametrize(("wrong", "statuses", "n_lost", "verdict"), [
    ([], {0: "OK", 1: "OK"}, 0, Verdict.CORRECTED),
    ([1], {0: "OK", 1: "OK"}, 0, Verdict.WRONG),
    ([1], {0: "OK", 1: "TIMEOUT"}, 0, Verdict.PARTLY),
    ([0, 1], {0: "TIMEOUT", 1: "TIMEOUT"}, 0, Verdict.REPORTED),
    ([], {0: "OK", 1: None}, 0, Verdict.HANG),
    ([], {0: "OK", 1: None}, 1, Verdict.COUNTED),
    ([0], {0: "OK", 1: None}, 1, Verdict.WRONG),
    ([], {0: None, 1: None}, 1, Verdict.HANG),
])
def test_verdicts(wrong: list[int], statuses: dict[int, str | None], n_lost: int, verdict: Verdict) -> None:
    assert _verdict(wrong, statuses, n_lost=n_lost) is verdict


@pytest.mark.long
@pytest.mark.parametrize(("script", "counted"), [
    ("{links: {flipped: 0.001}}", {"link_damaged", "link_replays"}),
    ("{links: {lost: 0.01}}", {"link_damaged", "link_replays"}),
    ("{links: {doubled: 0.01}}", {"link_damaged"}),
    ("{links: {delayed: 0.02, delay: 300}}", set()),
    ("{events: [{kind: link_down, node: 1, at: 500, cycles: 2000}]}", {"link_damaged", "link_replays"}),
    ("{events: [{kind: link_down, node: 1, at: 500, cycles: 5000}]}", {"link_falls"}),
])
def test_wires_change_nothing(small: Config, script: str, counted: set[str]) -> None:
    """Errors that links put right change no bit, and are counted at one end of them or the other."""
    seen: Counter[str] = Counter()
    for order in range(3):
        found = outcome(small, script, order=order)
        assert found.verdicts == [Verdict.CORRECTED] * 2
        assert sum(found.injected.values()) > 0
        seen.update(found.link_counters)
    print(script, dict(seen))
    assert counted <= set(seen)
