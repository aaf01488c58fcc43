# amaranth: UnusedElaboratable=no
"""The runner and the stream checkers, shown to catch planted faults."""

import os
import random
import re
import subprocess
import sys

import pytest

from rtl.abi import PacketHeader
from rtl.interface import beat
from testbench.bundle import Bundle
from testbench.codec import decode, encode
from testbench.packet import Packet, from_beats, to_beats
from testbench.planted import FAULTS, FaultyRegister
from testbench.runner import BenchError, run_bench
from testbench.simulator import BuildError, build, simulator_name
from testbench.toolchain import build_folder

BENCH = "testbench.planted_bench"

EXPECTED = {
    "valid_falls": "o: valid fell before ready",
    "payload_changes": "o: payload changed while stalled",
    "loses": "did not end within 5000 cycles",
    "duplicates": "passes_items_on: ",
    "swaps": "passes_items_on: ",
    "assertion": "FaultyRegister.v:",
}


def test_faultless_component_passes(monkeypatch):
    monkeypatch.delenv("CONIC_SEED", raising=False)
    result = run_bench(
        FaultyRegister(fault="none"), bench=BENCH, parameters={"depth": 3}, seed=7, testcase="passes_items_on"
    )
    assert result.tests == 1
    assert result.seed == 7
    assert result.report["given"] == {"depth": 3}
    again = run_bench(FaultyRegister(fault="none"), bench=BENCH, seed=7, testcase="passes_items_on")
    assert again.report["first"] == result.report["first"]
    monkeypatch.setenv("CONIC_SEED", "11")
    assert run_bench(FaultyRegister(fault="none"), bench=BENCH, seed=7, testcase="passes_items_on").seed == 11


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "none"])
def test_planted_fault_is_caught(fault, monkeypatch):
    monkeypatch.delenv("CONIC_SEED", raising=False)
    with pytest.raises(BenchError) as caught:
        run_bench(FaultyRegister(fault=fault), bench=BENCH, seed=1, testcase="passes_items_on")
    message = str(caught.value)
    assert f"{BENCH} failed with seed 1" in message
    assert EXPECTED[fault] in message
    assert "did not fail" not in message
    waves = build_folder() / "waves" / "planted_bench-FaultyRegister-1.fst"
    assert f"waveform: {waves}" in message
    assert waves.stat().st_size > 500
    waves.unlink()


def test_what_failed_comes_first(monkeypatch):
    """Seed, failed test with the values that it compared, and the line of the bench that failed; then the waveform,
    then the end of the log."""
    monkeypatch.delenv("CONIC_SEED", raising=False)
    with pytest.raises(BenchError) as caught:
        run_bench(FaultyRegister(fault="swaps"), bench=BENCH, seed=1, testcase="passes_items_on")
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{BENCH} failed with seed 1 (CONIC_SEED=1 repeats it)"
    assert re.match(r"passes_items_on: assert \[\d+, .*\] == \[\d+, ", lines[1]), "no values"
    place = next(number for number, line in enumerate(lines) if line.startswith("  at testbench/planted_bench.py:"))
    assert lines[place].endswith(", in passes_items_on: assert sink.received == items")
    assert lines[place + 1].startswith("waveform: ")


def test_source_of_the_runner_is_not_printed(tmp_path):
    """A failing bench's report begins with its own lines; a failing test of another kind keeps its source."""
    (tmp_path / "test_planted.py").write_text(
        "from testbench.runner import BenchError\n"
        "def run():\n    raise BenchError('x_bench failed with seed 7\\nwaveform: x.fst')\n"
        "def test_bench():\n    run()\n"
        "def test_other():\n    assert 1 + 1 == 3\n"
    )
    plugins = ["-p", "testbench.failing", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *plugins, "--rootdir", ".", "."]
    environment = os.environ | {"COLUMNS": "200"}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    bench, _, other = result.stdout.partition("test_bench ____")[2].partition("test_other ____")
    assert bench.splitlines()[1:3] == ["x_bench failed with seed 7", "waveform: x.fst"]
    assert "def run" not in bench
    assert ">       assert 1 + 1 == 3" in other
    assert "::test_bench - testbench.runner.BenchError: x_bench failed with seed 7" in result.stdout


def test_skipped_tests_are_named(capsys):
    """A test that does not apply is said to be skipped and does not count as run."""
    bench = "testbench.planted_skip_bench"
    assert run_bench(FaultyRegister(fault="none"), bench=bench).tests == 1
    assert f"{bench}: applies_to_some is skipped: it does not apply" in capsys.readouterr().out
    assert run_bench(FaultyRegister(fault="none"), bench=bench, parameters={"complete": True}).tests == 2
    assert "skipped" not in capsys.readouterr().out


def test_hanging_bench_is_ended():
    with pytest.raises(BenchError, match=r"hangs: .*did not end within 100 cycles"):
        run_bench(FaultyRegister(fault="none"), bench=BENCH, testcase="hangs")


def test_bench_without_tests_fails():
    with pytest.raises(BenchError, match="no test was run"):
        run_bench(FaultyRegister(fault="none"), bench=BENCH, testcase="nothing_of_that_name")


def test_bad_verilog_is_refused():
    with pytest.raises(BuildError, match="refused"):
        build("module top(input a, output b); assign b = nothing; endmodule", top="top")


def test_meaningful_warning_is_refused():
    """A port that nobody connects is a warning, and so an error."""
    text = "module sub(input a, output b); assign b = a; endmodule\nmodule top(output y); sub s(.b(y)); endmodule"
    with pytest.raises(BuildError, match="PINMISSING"):
        build(text, top="top")


def test_unknown_simulator_is_refused(monkeypatch):
    monkeypatch.setenv("SIM", "ghdl")
    with pytest.raises(ValueError, match=r"^SIM must be verilator or icarus, not 'ghdl'$"):
        simulator_name()


def test_codec_round_trip():
    numbers = random.Random(3)
    header = {name: numbers.getrandbits(field.width) for name, field in PacketHeader}
    assert decode(PacketHeader, encode(PacketHeader, header)) == header
    assert decode(PacketHeader, PacketHeader.const(header).as_value().value) == header
    assert encode(beat(8), {"data": 5, "last": 1}) == 0x105
    with pytest.raises(ValueError, match="must fit 8 bits, not 256"):
        encode(beat(8), {"data": 256})
    with pytest.raises(KeyError):
        encode(beat(8), {"date": 2})


@pytest.mark.parametrize("data_width", [64, 512])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 63, 64, 65])
def test_beats_round_trip(data_width, length):
    payload = random.Random(length).randbytes(length)
    beats = to_beats(payload, data_width, padding=(1 << data_width) - 1)
    assert from_beats(beats, length, data_width) == payload
    assert [item["last"] for item in beats] == [0] * (len(beats) - 1) + [1] * bool(beats)


def test_packet_checks_its_fields():
    assert Packet.make(b"abc", tag=4).header["length"] == 3
    with pytest.raises(KeyError, match="no field colour"):
        Packet.make(colour=1)


def test_bundle_names_ports():
    bundle = Bundle({"one": FaultyRegister(fault="none"), "two": FaultyRegister(fault="none")})
    assert sorted(bundle.signature.members) == ["one__i", "one__o", "two__i", "two__o"]
