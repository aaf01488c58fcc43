"""`make test-fast` gives its verdict in its time whatever hangs, and says first what failed."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from testbench import cost
from testbench.bounded import HungError, OutOfTimeError
from testbench.fast_notes import VARIABLE, note, read
from testbench.fast_plugin import LEAST_BOUND, Deadline
from testbench.fast_verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
PLANTED = """
import ctypes, subprocess, time
import pytest

def test_loop():
    while True:
        pass

def test_blocks():
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):
        ctypes.CDLL(None).pthread_mutex_lock(mutex)

def test_child():
    subprocess.run("sleep 1000 & sleep 1000", shell=True)

def test_good():
    pass

def test_wrong():
    assert 1 + 1 == 3

@pytest.fixture
def waits():
    time.sleep(1000)

def test_fixture(waits):
    pass
"""


RUN = """
import sys, time
from pathlib import Path
from testbench import fast
sys.exit(fast.run(
    ["test_planted.py"], began=time.time(), seconds=9.0, root=Path(sys.argv[1]),
    options=("-n", "3", "--dist", "load", "--maxschedchunk", "1", "-p", "no:cacheprovider"),
))
"""


def run(folder: Path, costs: dict[str, float]) -> tuple[int, str, float]:
    """Exit status, what was printed, and how long it took."""
    (folder / "build").mkdir()
    (folder / "build" / "test-costs.json").write_text(json.dumps(costs))
    (folder / "test_planted.py").write_text(PLANTED)
    began = time.time()
    environment = {"CONIC_BUILD": str(folder / "build"), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", RUN, str(folder)]  # it ends all that it finds below its process
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, time.time() - began


def names(*tests: str) -> list[str]:
    return [f"test_planted.py::test_{test}" for test in tests]


def test_whatever_hangs(tmp_path):
    everything = names("good", "wrong", "loop", "child", "blocks", "fixture")  # a worker takes two of them at once
    costs = {name: 0.1 * place for place, name in enumerate(everything)}
    status, said, seconds = run(tmp_path, costs)
    assert status != 0
    assert seconds < 9 + 8 + 5
    assert str(tmp_path) not in subprocess.run(["ps", "axww"], capture_output=True, text=True, check=True).stdout
    first, _, verdict = said.partition("\nverdict after ")
    assert re.search(r"first failure, after \d+ s: test_planted\.py::test_wrong\nassert \(1 \+ 1\) == 3", first)
    assert "1 passed" in verdict
    assert "failed first: test_planted.py::test_wrong" in verdict
    assert re.search(r"test_planted\.py::test_loop: ended after .*test_planted\.py:[67], in test_loop", verdict)
    blocks = "failed: test_planted.py::test_blocks\n  did not end, and nothing but its process could be ended"
    assert blocks in verdict
    assert "left out, no time: 2\n" in verdict
    assert "test_planted.py::test_child" in verdict
    known = json.loads((tmp_path / "build" / "test-costs.json").read_text())
    assert {test: known[test] for test in everything[1:]} == {test: costs[test] for test in everything[1:]}
    owed = json.loads((tmp_path / "build" / "fast" / "owed.json").read_text())
    assert set(owed) == set(names("wrong", "loop", "blocks"))


def test_what_hung_is_first_next_time():
    items = [SimpleNamespace(nodeid=name) for name in ("near.py::cheap", "far.py::hung", "near.py::dear")]
    deadline = Deadline(0, {"far.py::hung": 500.0}, {"near.py": 1, "far.py": 9}, frozenset({"far.py::hung"}))
    deadline.pytest_collection_modifyitems(items)
    assert items[0].nodeid == "far.py::hung"
    assert deadline.cost("far.py::hung") < 2  # and fits, whatever it took


@pytest.mark.parametrize(("known", "ran", "hangs"), [
    (5.0, 80.0, True), (5.0, 60.0, False), (50.0, 120.0, False), (None, LEAST_BOUND, True), (None, 50.0, False),
])
def test_who_hangs(known, ran, hangs):
    """Much longer than the last pass took: that is a failure. Otherwise it tells nothing when the time is over."""
    deadline = Deadline(0, {} if known is None else {"a": known}, {})
    with pytest.raises(OutOfTimeError) as caught:
        deadline.give_up("a", ran)
    assert isinstance(caught.value, HungError) is hangs


def test_costs_are_those_of_passes(monkeypatch):
    kept = {}
    monkeypatch.setattr(cost, "remember", kept.update)
    monkeypatch.setattr(cost, "all_spared", lambda: {"spared"})
    reports = [
        SimpleNamespace(nodeid=name, when="call", passed=passed, user_properties=[(cost.PROPERTY, [9, 0, 0])])
        for name, passed in (("passed", True), ("failed", False), ("spared", True))
    ]
    terminal = SimpleNamespace(stats={"": reports}, section=lambda _: None, write_line=lambda _: None)
    cost.pytest_terminal_summary(terminal)
    assert kept == {"passed": [9, 0, 0]}


@pytest.fixture
def notes(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "notes"))
    return tmp_path / "notes"


def test_a_bench_tells_before_it_has_a_waveform(notes, capsys):
    text = "x_bench failed with seed 7 (CONIC_SEED=7 repeats it)\nwaits: no\n  at 510 ns of simulation, cycle 51"
    verdict = Verdict(notes, time.time())
    note("collected", tests=["a", "b"])
    note("began", test="a")
    note("bench failed", test="a", text=text)
    verdict.tell_first()
    assert capsys.readouterr().out == ""  # a test may want that
    verdict._since["a"] -= 60
    verdict.tell_first()
    assert text in capsys.readouterr().out
    note("failed", test="a", text=f"{text}\nwaveform: x.fst\nshow it: surfer x.fst\nlast lines of the log:\nmuch")
    verdict.tell_first()
    said = capsys.readouterr().out
    assert said.endswith("waveform: x.fst\nshow it: surfer x.fst\n")
    assert "waits" not in said
    assert not verdict.tell(killed=True)
    said = capsys.readouterr().out
    assert "verdict after 0 s: 1 failed, 1 left out\nfailed first: a\n" in said
    assert "  show it: surfer x.fst\nleft out, no time: 1\n  b\n" in said
    assert "much" not in said


def test_a_test_that_wants_its_bench_to_fail(notes, capsys):
    verdict = Verdict(notes, time.time())
    note("bench failed", test="a", text="as planted")
    verdict.tell_first()
    verdict._since["a"] -= 60
    verdict.tell_first()
    note("passed", test="a", seconds=3.0)
    verdict.tell_first()
    assert "a passed: it wanted its bench to fail" in capsys.readouterr().out
    assert verdict.tell(killed=False)
    assert "failed" not in capsys.readouterr().out


def test_a_bench_that_is_killed_before_its_waveform_has_failed(notes, capsys):
    verdict = Verdict(notes, time.time())
    note("began", test="a")
    note("bench failed", test="a", text="waits: no")
    verdict.tell_first()
    assert not verdict.tell(killed=True)
    assert "failed first: a\n  waits: no\n  no waveform: it ran for 0 s and was killed" in capsys.readouterr().out


@pytest.mark.parametrize("collected", [True, False])
def test_where_no_test_begins_nothing_is_good(notes, capsys, collected):
    verdict = Verdict(notes, time.time())
    if collected:
        note("collected", tests=["a", "b"])
        note("left out", test="b", why="no time")
    verdict.tell_first()
    assert not verdict.tell(killed=True)
    assert f"all tests: none {'had begun' if collected else 'was collected'}" in capsys.readouterr().out
    assert verdict.owed == set()


def test_notes_of_a_writer_that_is_not_done(notes):
    note("one", test="a")
    with notes.open("ab") as file:
        file.write(b'{"kind": "two"')
    found, offset = read(notes)
    assert [one["kind"] for one in found] == ["one"]
    with notes.open("ab") as file:
        file.write(b"}\n")
    assert [one["kind"] for one in read(notes, offset)[0]] == ["two"]
