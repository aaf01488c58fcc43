"""Every command that a page, a figure or the Makefile names ends as it says: in short here, whole among the long tests.

``commands.yaml`` beside this file has an entry for each of them.
"""

import importlib.util
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import yaml

from sim.cli.main import cli, main

_ROOT = Path(__file__).resolve().parents[2]
_TRACKED = subprocess.run(["git", "ls-files"], cwd=_ROOT, capture_output=True, text=True, check=True).stdout.split()
_PAGES = [name for name in _TRACKED if name.endswith(".md") and "decisions/" not in name and name != "CHANGELOG.md"]
_FIGURES = [name for name in _TRACKED if re.fullmatch(r"docs/(figures|studies)/.*\.json", name)]
_TOOLS = re.compile(r"(?:\.venv/bin/)?(?:conic|python3? -m|make|mpiexec|testfloat_gen|pytest) \S")
_NAMED = re.compile(r"conic \w+|python -m [\w.]+")
"""In a sentence, without arguments: it speaks of the command, and need not be whole."""
_PLACEHOLDER = re.compile(r"(?<![\w./-])[A-Z][A-Z_]*\b|…|\$|<|──|[][]")
_SECONDS = 3600

FILES = {
    "that.yaml": "base: paper\nnic: {n_cous: 1, n_vps: 64}\nreduce: {datatypes: [float64], multiply: false}\n"
                 "switch: {readers: 2}\n",
    "host.yaml": "base: paper\n",
    "app.goal": "num_ranks 4\n" + "".join(
        f"rank {rank} {{\n{verb}: {verb} 64b {'to' if verb == 'send' else 'from'} {rank ^ 1}\n}}\n"
        for rank in range(4) for verb in ("recv" if rank % 2 else "send",)),
    "first.yaml": "groups: {a: [H0, H1], b: [H1, H2]}\n",
    "more.yaml": "groups: {c: [H0, H2]}\n",
    "faults.yaml": "events: [{kind: slow_host, node: 0, at: 0, cycles: 300, extra: 100}]\n",
    "flow.txt": "2\n0 5 3 100 2000 2\n1 6 3 100 2000 2.00001\n",
}
"""Files that commands of the pages read, by the names that they have there."""


def _plain(line: str) -> str:
    """The command of a line: no comment, no redirection, single spaces."""
    line = re.split(r"\s+#|\s+> ", line)[0]
    return " ".join(line.replace("$(BIN)/", "").lstrip("@\t ").split())


def commands_of(page: str, text: str) -> Iterator[str]:
    """Commands that the text of a page, of the Makefile or of a figure names."""
    if page.endswith(".json"):
        figure = json.loads(text)
        if isinstance(figure, dict) and isinstance(figure.get("command"), str):
            yield _plain(figure["command"])
        return
    text = re.sub(r"\\\n\s*", " ", text)
    if page == "Makefile":
        yield from (_plain(line) for line in text.splitlines() if line.startswith("\t") and "$(BIN)/" in line)
        return
    for block in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL):
        lines = (line.strip() for line in block.splitlines())
        # With a colon behind its name it is what a command says; with an arrow it is a picture.
        yield from (_plain(line) for line in lines if _TOOLS.match(line) and not re.search(r"^conic \w+:|─►", line))
    for quoted in re.findall(r"`([^`]+)`", re.sub(r"```\w*\n.*?```", "", text, flags=re.DOTALL)):
        line = _plain(quoted)
        if _TOOLS.match(line) and not _NAMED.fullmatch(line):
            yield line


NAMED: dict[str, list[str]] = {}
for _page in (*_PAGES, "Makefile", *_FIGURES):
    for _command in commands_of(_page, (_ROOT / _page).read_text()):
        NAMED.setdefault(_command, []).append(_page)
TABLE: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("commands.yaml").read_text())
SHORT = {entry.get("short", command): entry.get("exit", 0) for command, entry in TABLE.items()
         if "short" in entry or not {"test", "never"} & set(entry)}
WHOLE = {entry.get("whole", command): entry.get("exit", 0) for command, entry in TABLE.items()
         if "whole" in entry or not ("never" in entry or _PLACEHOLDER.search(command))}


def test_each_command_has_an_entry() -> None:
    assert {command: pages for command, pages in NAMED.items() if command not in TABLE} == {}


def test_each_entry_is_named() -> None:
    assert [command for command in TABLE if command not in NAMED] == []


def test_there_are_commands() -> None:
    assert len(NAMED) > 150
    assert len(SHORT) > 50


def _subjects(command: str) -> list[str]:
    """Words of which the test of a command has one: its subcommand or its module."""
    if "IMB" in command:
        return ["IMB"]
    found = re.search(
        r"conic (?:bench|study) ([\w-]+)|conic (\w+)|python -m ([\w.]+)|make (?:test-)?(\w+)|/(\w+\.py)", command)
    word = command.split()[0] if found is None else next(filter(None, found.groups()))
    return [word, word.replace("-", "_"), word.rpartition(".")[2] or word, word.partition("-")[0]]


@pytest.mark.parametrize("command", TABLE)
def test_entry(command: str) -> None:
    """It says how the command is run, or why not; a test that it names is there and speaks of it."""
    entry = TABLE[command]
    assert set(entry) <= {"short", "whole", "exit", "test", "never"}
    for form in (entry.get("whole", ""), entry.get("short", "")):
        assert not _PLACEHOLDER.search(re.sub(r"(TEST|BOARD|SEEDS)=\S|README", "", form)), form
    if "test" in entry:
        text = (_ROOT / entry["test"]).read_text()
        assert any(word in text for word in _subjects(command)), f"{entry['test']} does not speak of it"
    if not {"test", "never", "whole"} & set(entry):
        assert not _PLACEHOLDER.search(command), "what is to stand there?"


def test_a_page_is_read_to_its_end() -> None:
    """Blocks, sentences, lines that go on in the next, redirections and comments."""
    page = "`conic run`, `conic run x\ny --nodes 2`\n" \
           "```\nconic a b > c  # d\nmake e \\\n  f\nconic mpiexec: says\n```\n"
    assert sorted(commands_of("x.md", page)) == ["conic a b", "conic run x y --nodes 2", "make e f"]
    assert list(commands_of("Makefile", "a: b\n\t@$(BIN)/python -m c > d\n\trm x\n")) == ["python -m c"]
    assert list(commands_of("x.json", '{"command": "conic study a"}')) == ["conic study a"]


def parse(arguments: list[str]) -> None:
    """Goes down to the command and has it take its flags, without running it."""
    command: click.Command = cli
    context = click.Context(cli, info_name="conic")
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        name, found, arguments = command.resolve_command(context, arguments)
        assert found is not None, name
        command, context = found, click.Context(found, info_name=name, parent=context)
    if isinstance(command, click.Group):
        return
    parser = command.make_parser(context)
    values, rest, _ = parser.parse_args(list(arguments))
    assert not rest, rest
    for parameter in command.params:  # values of choices and numbers; files need not be there
        value = values.get(str(parameter.name))
        if isinstance(value, str) and not isinstance(parameter.type, click.Path | click.File):
            parameter.type_cast_value(context, value)


@pytest.mark.parametrize("command", [
    command for command in NAMED if command.startswith("conic ") and not _PLACEHOLDER.search(command)])
def test_command_of_a_page_is_understood(command: str) -> None:
    words = shlex.split(command)[1:]
    try:
        parse(words)
    except click.BadOptionUsage as error:  # in a sentence a flag may stand without its value
        if "requires an argument" not in error.message or error.option_name != words[-1]:
            raise


@pytest.mark.parametrize("command", [command for command in NAMED if command.startswith("python -m ")])
def test_module_of_a_page_is_there(command: str) -> None:
    assert importlib.util.find_spec(command.split()[2]) is not None


@pytest.mark.parametrize("wrong", ["conic run reduce --nodse 4", "conic bench swich", "conic run reduce --nodes x"])
def test_a_wrong_one_is_found(wrong: str) -> None:
    with pytest.raises((click.UsageError, AssertionError)):
        parse(shlex.split(wrong)[1:])


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, for commands that write, with all files that commands of the pages read."""
    folder = tmp_path_factory.mktemp("tree")
    for name in _TRACKED:
        if name.startswith(("docs/", "sim/goal/")) or "/" not in name or name.endswith(".md"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(_ROOT / name, folder / name)
    (folder / ".venv").symlink_to(_ROOT / ".venv")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    data = _ROOT / "tests" / "firmware_models" / "routing" / "data"
    shutil.copy(data / "ft4.net", folder / "fabric.txt")
    shutil.copy(data / "opensm-sa.dump", folder)
    np.save(folder / "x.npy", np.arange(32.0).reshape(4, 8))
    program, = re.findall(r"```python\n(.*?)```", (_ROOT / "README.md").read_text(), re.DOTALL)
    (folder / "program.py").write_text(program)
    _call(folder, "conic congestion dumbbell:5 --load 0.1 --duration-us 1 --write-topology topology.txt")
    _call(folder, "conic route fabric.txt --groups first.yaml --save-state s.npz")
    return folder


def _call(folder: Path, command: str) -> tuple[int, str]:
    """Runs a command as a user does, and returns its exit code and the end of what it said."""
    environment = os.environ | {"PATH": f"{_ROOT}/.venv/bin:{os.environ['PATH']}", "PYTHONPATH": str(_ROOT)}
    ended = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True,
                           timeout=_SECONDS, check=False)
    return ended.returncode, (ended.stdout + ended.stderr)[-2000:]


def _call_here(folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """The same in this process, where all modules are imported already."""
    monkeypatch.chdir(folder)
    words = shlex.split(command)
    if words[0] == "conic" and words[1] != "mpiexec":
        with pytest.raises(SystemExit) as end:
            main(words[1:])
        return int(end.value.code or 0), ""
    if words[:2] == ["python", "-m"]:
        monkeypatch.setattr(sys, "argv", words[2:])
        # A test before may have imported what is run as a program now.
        for module in (words[2], f"{words[2]}.__main__"):
            folder, _, name = module.rpartition(".")
            if module in sys.modules and folder and hasattr(sys.modules.get(folder), name):
                # What is imported anew hides it; afterwards it is itself again.
                monkeypatch.setattr(sys.modules[folder], name, sys.modules[module])
            monkeypatch.delitem(sys.modules, module, raising=False)
        try:
            runpy.run_module(words[2], run_name="__main__")
        except SystemExit as end:
            return int(end.code or 0), ""
        return 0, ""
    return _call(folder, command)


@pytest.mark.parametrize("command", SHORT)
def test_short(command: str, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its shortest form ends with the exit code of the page."""
    code, said = _call_here(tree, command, monkeypatch)
    assert code == SHORT[command], said


@pytest.mark.long
@pytest.mark.parametrize("command", WHOLE)
def test_whole(command: str, tree: Path) -> None:
    """So does the command as it stands on the page."""
    code, said = _call(tree, command)
    assert code == WHOLE[command], said
