"""Every option of the commands without a cluster of their own: read in each mode, or refused where it is not read.

`MODES` lists the modes of a command, and for each the options that it does not read; a test goes through all others of
the command, so that a new option is either tried or in the table.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import fpga.slow_paths
import sim.walk.__main__
import testbench.formal.__main__
from sim.cli.main import COMMANDS, SIMULATING, cli

Conic = Callable[..., Any]
SMALL = Path(fpga.slow_paths.__file__).parents[1] / "firmware_models" / "config" / "presets" / "small.yaml"
TRACE = {"--proxy": "all", "--idle-phases": "2", "--max-dynamic": "2", "--message-ns": "7", "--queue-pair-ns": "7",
         "--seed": "3", "--preset": "small", "--config": str(SMALL)}
MEASURED = {"--processes": "1", "--scheduler": "tcp://a:1", "--limit": "2h", "--results": "r.jsonl"}
GRID = MEASURED | {"--preset": "small", "--host": "server", "--nodes": "4"}
FORMULA = ("connections", "--processes", "64", "--cores", "2")
RUN = ("connections", "stencil:4x4x4", "--processes", "64", "--cores", "2")
MODES: list[tuple[tuple[str, ...], dict[str, str]]] = [
    (FORMULA, TRACE),
    ((*RUN, "--scheme", "rc"), {"--group-size": "4", "--size-classes": "2", "--srq-depth": "8"}),
    ((*RUN, "--scheme", "rc-srq"), {"--group-size": "4", "--size-classes": "2", "--receive-buffers": "3",
                                    "--receive-depth": "9"}),
    ((*RUN, "--scheme", "xrc-sizes"), {"--group-size": "4", "--receive-buffers": "3", "--receive-depth": "9"}),
    ((*RUN, "--scheme", "group"), {"--size-classes": "2", "--receive-buffers": "3", "--receive-depth": "9"}),
    ((*RUN, "--scheme", "group-xrc-sizes"), {"--receive-buffers": "3", "--receive-depth": "9"}),
    (("congestion", "dumbbell:5", "--collective", "allreduce/ring"), {"--alone": "", "--duration-us": "9"}),
    (("congestion", "dumbbell:5", "--flows", "f.txt"),
     {"--alone": "", "--duration-us": "9", "--size": "4", "--ranks": "2"}),
    (("study",), GRID | {"--quick": "", "--part": "a", "--rows": "r.json", "--save-rows": "s.json", "--output-dir": "o",
                         "--engine": "lanes"}),
    *((("study", name), GRID | {"--engine": "lanes"}) for name in
      ("mft", "area", "connections", "congestion-small", "congestion-dumbbell", "congestion-large",
       "congestion-collectives")),
    *((("study", name, "--rows", "r.json"), MEASURED | {"--engine": "lanes"}) for name in
      ("nic-reduce", "faults", "noise", "pulses", "reproducibility", "algorithms", "buffer-occupancy")),
    (("bench", "osu", "barrier"), {"-m": "4:8", "--dtype": "float64", "--seed": "2", "--op": "max"}),
    *((("bench", "osu", name, "--nodes", "2", "-m", "64:64"), {"--op": "max"})
      for name in ("broadcast", "allgather", "alltoall")),
    *((("bench", name), {"--engine": "lanes"}) for name in ("builds", "congestion", "latency", "simulator", "switch")),
]
CASES = [(words, flag, value) for words, idle in MODES for flag, value in idle.items()]


@pytest.mark.parametrize(("words", "flag", "value"), CASES, ids=[f"{' '.join(w)} {flag}" for w, flag, _ in CASES])
def test_what_does_nothing_is_refused(words: tuple[str, ...], flag: str, value: str, conic: Conic) -> None:
    outcome = conic(*words, flag, *([value] if value else []))
    assert (outcome.code, outcome.out) == (2, "")
    line, = outcome.err.splitlines()
    name = "--message-size" if flag == "-m" else flag
    assert name in line
    assert "does nothing" in line or "must be left out" in line or "no such option" in line


SCHEMES = ("rc", "rc-srq", "xrc", "xrc-sizes", "group", "group-xrc", "group-xrc-sizes")
SIZES = {"--group-size": "32", "--size-classes": "2", "--receive-buffers": "3", "--receive-depth": "9",
         "--buffer-size": "4096", "--send-depth": "4", "--srq-depth": "512", "--work-request-size": "128"}


@pytest.mark.parametrize("flag", SIZES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_taken_changes_something(scheme: str, flag: str, conic: Conic) -> None:
    """Each option of a queue is refused, or other memory comes out."""
    plain = conic(*FORMULA, "--scheme", scheme, "--json")
    given = conic(*FORMULA, "--scheme", scheme, "--json", flag, SIZES[flag])
    assert plain.code == 0
    assert given.code == 2 or given.out != plain.out


def commands() -> dict[str, click.Command]:
    """All of `conic`, those of groups too."""
    context = click.Context(cli, info_name="conic")
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        below = command.commands if isinstance(command, click.Group) else {"": command}
        found |= {f"{name} {under}".strip(): each for under, each in below.items()}
    return found


def test_the_table_names_options_that_there_are() -> None:
    known = commands()
    for words, flag, _ in CASES:
        name = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
        options = {option for parameter in known[name].params for option in parameter.opts}
        assert flag in options or (flag == "--engine" and words[0] == "bench"), (name, flag)


def test_engine_is_an_option_where_clusters_are_simulated() -> None:
    having = {name for name, command in commands().items() if any(one.name == "engine" for one in command.params)}
    assert {name.split()[0] for name in having} == SIMULATING
    assert {name for name in having if name.startswith("bench")} == {"bench osu", "bench scale", "bench throughput"}


@pytest.mark.parametrize(("main", "arguments", "said"), [
    (fpga.slow_paths.main, ["--preset", "small", "--netlist", "x.json"],
     "--netlist: not allowed with argument --preset"),
    (testbench.formal.__main__.main, ["queue", "--quick"], "--quick: does nothing with NAME"),
    (sim.walk.__main__.main, ["--drow", "folder"], "arguments must be [--draw] FOLDER, not --drow folder"),
])
def test_modules(
    main: Callable[[list[str]], Any], arguments: list[str], said: str, capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert said in (end.value.code if isinstance(end.value.code, str) else capsys.readouterr().err)


def test_the_seed_of_data_that_are_there(conic: Conic, tmp_path: Path) -> None:
    """A run without faults draws nothing but its data."""
    rows = tmp_path / "x.npy"
    np.save(rows, np.zeros((2, 1)))
    outcome = conic("run", "allreduce", "--algorithm", "recursive-doubling", "--input", str(rows), "--seed", "3")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--seed: does nothing with --input, whose data are there; leave it out" in outcome.err
