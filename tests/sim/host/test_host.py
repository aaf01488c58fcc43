"""Hosts as parameters: presets, files, errors, and what follows from the numbers."""

from pathlib import Path

import pytest

from sim.host import HostError, host_names, load_host, load_host_file, parse_host


@pytest.mark.parametrize("name", host_names())
def test_presets_say_everything(name: str) -> None:
    host = load_host(name)
    assert host.cpu.cores >= 1
    assert host.read_cycles() > 2 * host.way_cycles()


def test_a_file_changes_its_base(tmp_path: Path) -> None:
    path = tmp_path / "h.yaml"
    path.write_text("base: server\ncpu:\n  cores: 3\n  post_ns: 7.5\n")
    host, base = load_host_file(path), load_host("server")
    assert (host.cpu.cores, host.cpu.post_ns) == (3, 7.5)
    assert (host.pcie, host.memory, host.mpi, host.network) == (base.pcie, base.memory, base.mpi, base.network)
    assert parse_host("", source="x") == load_host("paper")


@pytest.mark.parametrize(("text", "message"), [
    ("cpu:\n  cores: 0", "f: cpu.cores: must be a whole number, 1 to 4096, not 0"),
    ("cpu:\n  cores: 1.5", "f: cpu.cores: must be a whole number, 1 to 4096, not 1.5"),
    ("pcie:\n  gbits: fast", "f: pcie.gbits: must be 0.1 to 100000, not 'fast'"),
    ("cpu:\n  poll_ns: 0", "f: cpu.poll_ns: must be 1 to 1e+06, not 0"),
    ("cpu:\n  clock: 1", "f: cpu.clock: no such field (got 1); allowed: cores, post_ns, doorbell_ns, poll_ns, take_ns, "
                         "reduce_ns"),
    ("disk:\n  x: 1", "f: disk: no such section (got a mapping); allowed: …"),
    ("cpu: 3", "f: cpu: must be a mapping of fields, not 3"),
    ("base: nope", "f: base: must be one of paper, server, not 'nope'"),
    ("- 1", "f: must be a mapping of sections, not a list"),
])
def test_bad_files(text: str, message: str) -> None:
    with pytest.raises(HostError) as error:
        parse_host(text, source="f")
    assert "\n" not in str(error.value)
    # How a mapping or a list is shown is the business of `shown`.
    assert str(error.value).split(" (got")[0].split(", not")[0] == message.split(" (got")[0].split(", not")[0]


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"host file .* "):
        load_host_file(tmp_path / "none.yaml")


def test_cycles() -> None:
    """At 500 cycles a microsecond: 250 ns are 125 cycles, and 32 bytes at 64 Gb/s take 4 ns, two cycles."""
    host = parse_host(
        "network:\n  clock_mhz: 500\npcie:\n  one_way_ns: 250\n  gbits: 64\nmemory:\n  latency_ns: 100", source="x"
    )
    assert (host.cycles(250), host.way_cycles(), host.read_cycles(), host.beat_cycles(32)) == (125, 125, 300, 2)
    assert host.beat_cycles(8) == 1
    assert host.microseconds(1000) == 2
