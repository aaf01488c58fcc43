"""Files, tests, benches and folders that pages and the Makefile name exist; excerpts are from the files they name."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
PAGES = [name for name in TRACKED if name.endswith(".md") and "decisions/" not in name and name != "CHANGELOG.md"]
"""Decisions and the changelog tell of their own time."""
PATH = re.compile(
    r"\b(?:tests|testbench|rtl|sim|fpga|firmware_models|docs)/[\w/.-]*\w\.(?:py|yaml|md|json|svg|h|cpp|c)\b(?:::(\w+))?"
)
BENCH = re.compile(r"\btestbench(?:\.\w+)+_bench\b")
EXCERPT = re.compile(r"```\w*\n# (\S+\.\w+)\n(.*?)```", re.DOTALL)
ROOMS = [name for name in TRACKED if re.fullmatch(r"(sim|rtl|fpga|tests|firmware_models)/README\.md", name)]


@pytest.mark.parametrize("name", [*PAGES, "Makefile"])
def test_files(name: str) -> None:
    """Paths below the rooms, functions behind ``::``, modules of benches."""
    text = (ROOT / name).read_text()
    for found in PATH.finditer(text):
        path, _, function = found[0].partition("::")
        if "/x/" in path or re.search(r"\b(build|tmp)/\S*$", text[:found.start()]):
            continue  # how names are formed; what a command will write
        assert (ROOT / path).exists(), f"{name} names {path}"
        if function:
            assert re.search(rf"\bdef {function}\b", (ROOT / path).read_text()), f"{name} names {found[0]}"
    for module in BENCH.findall(text):
        assert (ROOT / (module.replace(".", "/") + ".py")).exists(), f"{name} names {module}"


def test_example_of_waves() -> None:
    """The test that ``make waves`` gives as an example is one."""
    example = re.search(r"make waves TEST=(\S+\.py)", (ROOT / "Makefile").read_text())
    assert example is not None
    assert (ROOT / example[1]).exists()


@pytest.mark.parametrize("name", [name for name in PAGES if EXCERPT.search((ROOT / name).read_text())])
def test_excerpts(name: str) -> None:
    """Code under a comment that names a file is in that file, line by line and in that order."""
    for file, code in EXCERPT.findall((ROOT / name).read_text()):
        lines = iter(line.strip() for line in (ROOT / file).read_text().splitlines())
        for wanted in (line.strip() for line in code.splitlines() if line.strip()):
            assert wanted in lines, f"{name}: {file} has no line {wanted!r} there"


@pytest.mark.parametrize("name", ROOMS)
def test_rooms_name_their_folders(name: str) -> None:
    """The README of a room leaves none of its folders out."""
    room = name.partition("/")[0]
    folders = {path.split("/")[1] for path in TRACKED if path.startswith(f"{room}/") and path.count("/") > 1}
    text = (ROOT / name).read_text()
    assert [folder for folder in sorted(folders) if f"`{folder}/`" not in text] == []
