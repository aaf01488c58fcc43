"""Inputs that once ended in a traceback, in a signal, or after minutes: exit code 2 and one line, at once."""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sim.cli.command.run
import sim.collective.run

Conic = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[2]
RUN = "run allreduce --algorithm recursive-doubling --nodes 4 --size 64"
BOMB = "a: &a [x, x]\n" + "".join(f"{chr(n + 1)}: &{chr(n + 1)} [*{chr(n)}, *{chr(n)}]\n" for n in range(97, 117))
LONG = "9" * 5000
DEEP = "[" * 50_000


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is refused is refused before the cluster is built."""
    def build(*_: Any, **__: Any) -> None:
        pytest.fail("the cluster was built")

    monkeypatch.setattr(sim.collective.run, "build_library", build)


def refused(outcome: Any, *parts: str) -> None:
    """Exit code 2, nothing on standard output, one line of bearable length with these parts."""
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert len(outcome.err) < 2100
    assert [part for part in parts if part not in outcome.err] == []


def test_size_beyond_memory(conic: Conic) -> None:
    """Once SIGABRT, after minutes."""
    refused(conic(*shlex.split(RUN.replace("64", "3GiB"))), "conic run: size must be at most ",
            "for 4 nodes and 1 jobs to go into this machine's memory")


@pytest.mark.parametrize("threads", ["many", "0", "-1", "1025", "1.5", "١", LONG])
@pytest.mark.parametrize("command", [f"{RUN} --json", "study mft --quick", "mpiexec -n 2 ./a.out"])
def test_unwanted_threads(threads: str, command: str, conic: Conic, monkeypatch: pytest.MonkeyPatch) -> None:
    """CONIC_THREADS was once a traceback of each command in its own way."""
    monkeypatch.setenv("CONIC_THREADS", threads)
    refused(conic(*shlex.split(command)), f"conic: CONIC_THREADS must be 1 to 1024, not {threads[:40]!r}")


@pytest.mark.parametrize("text", [BOMB, DEEP, f"a: {LONG}", "\x00\x01\x02", "a: {b: [", "? {a: b}\n: c"])
@pytest.mark.parametrize("flag", ["--config", "--run-file"])
def test_yaml(text: str, flag: str, conic: Conic) -> None:
    Path("x.yaml").write_text(text)
    refused(conic(*shlex.split(RUN), flag, "x.yaml"), "x.yaml", "is not YAML: ")


@pytest.mark.parametrize("flag", ["--config", "--run-file"])
def test_binary(flag: str, conic: Conic) -> None:
    Path("x.yaml").write_bytes(bytes(range(256)))
    refused(conic(*shlex.split(RUN), flag, "x.yaml"), "x.yaml", "must be UTF-8 text, not byte 0x80 in line 2")
    Path("folder.yaml").mkdir()
    refused(conic(*shlex.split(RUN), flag, "folder.yaml"), "folder.yaml", "cannot be read: Is a directory")
    Path("endless.yaml").symlink_to("/dev/zero")
    refused(conic(*shlex.split(RUN), flag, "endless.yaml"), "endless.yaml", "must have at most 1,048,576 bytes")


@pytest.mark.parametrize("text", [BOMB, DEEP, LONG])
def test_topology_file(text: str, conic: Conic) -> None:
    Path("x.yaml").write_text(text)
    refused(conic(*shlex.split(RUN), "--topology", "x.yaml"), "x.yaml")
    refused(conic("route", "x.yaml", "--pattern", "2x2"), "x.yaml")


@pytest.mark.parametrize(("flag", "command"), [
    ("--nodes", RUN), ("--size", RUN), ("--root", RUN), ("--jobs", RUN), ("--seed", RUN), ("--baud", RUN),
    ("--orders", RUN.replace("run", "verify")), ("--nodes", "schedule barrier --algorithm tree"),
    ("--load", "buffer"), ("--message-ns", "connections alltoall --processes 8"),
    ("--load", "congestion small"), ("--seed", "soak"), ("--buffer-flits", "bench switch"),
    ("--mft-size", "route star:4 --pattern 2x2"), ("--proxy", "connections alltoall --processes 8"),
])
@pytest.mark.parametrize("value", [LONG, "１２", "٣", "", " ", "1_0", "0x10", "1e99999", "nan", "--"])
def test_numbers(flag: str, command: str, value: str, conic: Conic) -> None:
    """Numbers of 5,000 digits, of other scripts, of none; what is not written in plain digits."""
    refused(conic(*shlex.split(command), f"{flag}={value}"), f"{flag}: must be ")


@pytest.mark.parametrize("topology", [
    "", "star:４", "star:" + LONG, "torus:2x２:1", "random:switches=٤,ports=4"])
def test_topology_names(topology: str, conic: Conic) -> None:
    refused(conic(*shlex.split(RUN), "--topology", topology), "conic run: topology ")


@pytest.mark.parametrize("collective", ["barrier --algorithm tree", "broadcast --algorithm binomial --size 64"])
def test_operator_of_nothing(collective: str, conic: Conic) -> None:
    refused(conic(*shlex.split(f"run {collective} --nodes 4 --op max")),
            "--op: must be left out for ", ", which reduces nothing, not 'max'")


@pytest.mark.parametrize("device", ["/dev/none", "/dev/null", "", "/", "x" * 5000])
def test_board_of_no_device(device: str, conic: Conic) -> None:
    """A device that is no serial port is bad input, not a check that failed."""
    outcome = conic(*shlex.split(RUN), "--board", device)
    assert (outcome.code, outcome.out) == (2, "")
    last = outcome.err.splitlines()[-1]
    assert last.startswith("conic run: board must be a serial port, or model:PRESET, not ")
    assert len(last) < 300


def test_npy_that_promises_more(conic: Conic) -> None:
    """A header of a terabyte, a truncated file, and what is no array at all."""
    base = ["run", "allreduce", "--algorithm", "recursive-doubling", "--input", "x.npy"]
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (4, 1 << 35)})
    whole = io.BytesIO()
    np.save(whole, np.zeros((4, 100)))
    objects = io.BytesIO()
    np.save(objects, np.array([[object()]], dtype=object), allow_pickle=True)
    archive = io.BytesIO()
    np.savez(archive, a=np.zeros(3))
    for data in (
        head.getvalue() + bytes(64), whole.getvalue()[:-1], objects.getvalue(), b"", b"\x93NUMPY\x01\x00\xff\xff",
        b"\x93NUMPY\x01\x00\x08\x00{'a':1}\n", b"PK\x03\x04" + bytes(100),
    ):
        Path("x.npy").write_bytes(data)
        refused(conic(*base), "--input: 'x.npy' must be an array saved by numpy.save")
    Path("x.npy").write_bytes(archive.getvalue())
    refused(conic(*base), "--input: 'x.npy' must ")
    Path("x.npy").unlink()
    Path("x.npy").symlink_to("/dev/zero")
    refused(conic(*base), "--input: 'x.npy' must be a file")


@pytest.mark.parametrize(("command", "flag"), [
    (RUN, "--output"), (RUN, "--waves"), (RUN, "--trace"), ("mpiexec -n 2 true", "--trace"),
    ("mpiexec -n 2 true", "--report"), ("soak --episode 0", "--waves"), ("verilog", "--output"),
    ("study mft --quick", "--save-rows"), ("route star:4 --pattern 2x2", "--output"),
    ("congestion small --load 0.5", "--scatter"),
])
def test_outputs_before_work(command: str, flag: str, conic: Conic) -> None:
    """No folder, a folder in its place, a file in the place of its folder: refused at once."""
    name, *arguments = shlex.split(command)
    Path("folder").mkdir()
    Path("file").write_text("")
    for value, words in (("none/x", "'none': no such folder"), ("folder", "is a folder, not a file"),
                         ("file/x", "'file': Not a directory"), ("", "must be the name of a ")):
        refused(conic(name, flag, value, *arguments), f"{flag}: ", words)


@pytest.mark.parametrize("command", ["verilog", "study mft --quick", "build ulx3s_85f"])
def test_output_folders_before_work(command: str, conic: Conic) -> None:
    Path("file").write_text("")
    refused(conic(*shlex.split(command), "--output-dir", "file/x/y"), "--output-dir: 'file': Not a directory")


@pytest.mark.parametrize("text", [
    "", "[", "[]", "{}", '{"rows": 5}', '{"rows": [5]}', '{"rows": [{}]}', DEEP, f'{{"rows": {LONG}}}', "\x00",
    '{"command": "conic study connections", "rows": [{"kind": "case"}]}',
])
@pytest.mark.parametrize("study", ["mft", "connections", "congestion-small", "area"])
def test_rows(text: str, study: str, conic: Conic) -> None:
    Path("rows.json").write_text(text)
    if study == "area" and text == "[]":
        return  # no rows are rows
    if study == "connections" and "kind" in text:
        return
    refused(conic("study", study, "--rows", "rows.json"), "--rows: 'rows.json' must ")
    assert not Path("build").exists()


@pytest.mark.parametrize(("study", "row"), [
    ("mft", {"kind": "case"}), ("mft", {"kind": "sweep", "network": 5}), ("connections", {"kind": "printed"}),
    ("connections", {"kind": "run", "trace": None}), ("congestion-small", {"kind": "small", "buffer_mb": 4}),
])
def test_rows_that_lack_something(study: str, row: dict[str, Any], conic: Conic) -> None:
    Path("rows.json").write_text(json.dumps({"command": f"conic study {study}", "rows": [row]}))
    refused(conic("study", study, "--rows", "rows.json"),
            "--rows: 'rows.json' must have the rows that --save-rows wrote: ")


def conic_process(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """The command in a process of its own, in the current folder."""
    return subprocess.Popen([sys.executable, "-m", "sim.cli.main", *arguments], text=True, stderr=subprocess.PIPE,
                            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}, **options)


@pytest.mark.parametrize("arguments", [
    ("config", "--json"), ("schedule", "allreduce", "--algorithm", "ring", "--nodes", "64"), ("config", "--help"),
    ("schedule", "barrier", "--algorithm", "tree", "--nodes", "2", "--check", "--json"),
])
def test_full_standard_output(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        process = conic_process(*arguments, stdout=full)
        _, words = process.communicate(timeout=60)
    assert (process.returncode, words) == (2, "conic: standard output: No space left on device\n")


@pytest.mark.parametrize("flags", [
    ("route", "star:4", "--pattern", "2x2", "--output", "/dev/full"),
    ("route", "star:4", "--pattern", "2x2", "--save-state", "/dev/full"),
    ("schedule", "barrier", "--algorithm", "tree", "--nodes", "4", "--diagram", "full.svg"),
])
def test_full_disk(flags: tuple[str, ...], conic: Conic) -> None:
    Path("full.svg").symlink_to("/dev/full")
    outcome = conic(*flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines()[-1] == f"conic {flags[0]}: '{flags[-1]}': No space left on device"


def test_full_disk_after_a_run(conic: Conic, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--output` and `--trace` of a run: the result is there, the disk is full."""
    result = sim.collective.run.CollectiveResult(
        cycles=1, bytes=64, goodput_fraction=0.5, bound_fraction=0.5, framing_fraction=0.5, wire_fraction=0.5,
        mismatched_bits=0,
        sha256="", outputs=np.zeros((4, 8)), completions=[], counters={}, events=[], stalls=[], buffer_occupancy=[],
    )
    monkeypatch.setattr(sim.cli.command.run, "run_collective", lambda *_, **__: result)
    for flag in ("--output", "--trace"):
        refused(conic(*shlex.split(RUN), flag, "/dev/full"), "'/dev/full': No space left on device")
    assert conic(*shlex.split(RUN), "--output", "y.npy", "--trace", "t.json", "--json").code == 0
    assert sorted(path.name for path in Path().iterdir()) == ["t.json", "y.npy"]


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_interrupted(kind: signal.Signals, tmp_path: Path) -> None:
    """The content of a file stays, however the program ends while it writes; SIGINT leaves nothing else."""
    (tmp_path / "x.txt").write_text("before")
    program = (
        "import time\nfrom pathlib import Path\nfrom firmware_models.files import written\n"
        "with written(Path('x.txt')) as file:\n"
        "    file.write('half'); file.flush(); print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(kind)
    process.wait(timeout=30)
    process.stdout.close()
    assert (tmp_path / "x.txt").read_text() == "before"
    if kind is signal.SIGINT:
        assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]


def test_interrupted_command() -> None:
    """SIGINT in the middle of a command: exit code 130, one line."""
    process = conic_process(*shlex.split("route taihulight --pattern 128x32x40 --processes-per-terminal 4"),
                            stdout=subprocess.DEVNULL)
    assert process.stderr is not None
    assert any("  routing" in line for line in iter(process.stderr.readline, "")), "it is at work"
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=60)
    assert process.returncode == 130
    assert words.splitlines()[-1] == "conic: interrupted"
    assert "Traceback" not in words
