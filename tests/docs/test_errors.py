"""docs/errors.md names every error and every flag, and tests that exist and speak of them."""

import ast
import re
from pathlib import Path

import pytest

from firmware_models.abi.encoding import Status
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.abi.registers import CONTROL_PAGE, EVENT_COUNTERS, SWITCH_COUNTERS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "errors.md").read_text()
SECTIONS = dict(re.findall(r"^#+ (.*?)\n(.*?)(?=^#|\Z)", TEXT, re.MULTILINE | re.DOTALL))
NAMED = sorted(set(re.findall(r"`((?:tests|testbench)/[\w/]+\.py)::(\w+)`", TEXT)))


def rows(section: str, column: int = 0) -> list[str]:
    """Names in a column of a section's table."""
    lines = [line for line in SECTIONS[section].splitlines() if line.startswith("|")][2:]
    return [line.split("|")[1 + column].strip(" `") for line in lines]


def no_errors(section: str) -> list[str]:
    """Statuses that a section says are no errors."""
    found = re.search(r"^Not errors: (.*)\.$", SECTIONS[section], re.MULTILINE)
    assert found is not None
    return re.findall(r"`(\w+)`", found.group(1))


def test_every_status() -> None:
    assert rows("Status of a completion") == [status.name for status in Status if status is not Status.OK]


def test_every_counter_of_the_nic() -> None:
    listed = rows("Counters of the NIC") + no_errors("Counters of the NIC")
    figures = {register.name.removesuffix("_lo") for register in CONTROL_PAGE}
    assert set(listed) - figures == {counter.name for counter in EVENT_COUNTERS}
    assert figures >= {"buffer_uncorrectable", "buffer_corrected"}


def test_every_counter_of_the_switch() -> None:
    listed = rows("Counters of a switch") + no_errors("Counters of a switch")
    assert sorted(listed) == sorted(counter.name for counter in SWITCH_COUNTERS)


def test_every_flag() -> None:
    """The fields of one bit that are the paper's, and CPCount."""
    flags = [field.name for field in DESCRIPTOR.fields
             if not field.is_reserved and "beyond the paper" not in field.doc
             and (field.width == 1 or field.name == "cp_count")]
    assert sorted(rows("Descriptor flags", 1)) == sorted(flags)


def test_every_row_has_a_test() -> None:
    for line in TEXT.splitlines():
        if line.startswith("| `") or re.match(r"\| [A-Z]\w+ \|", line):
            assert "::" in line, line


@pytest.mark.parametrize(("path", "name"), NAMED, ids=lambda part: str(part))
def test_is_there(path: str, name: str) -> None:
    """The function exists; of a bench, some pytest function runs it."""
    tree = ast.parse((ROOT / path).read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert name in functions
    if path.startswith("testbench/"):
        module = path.removesuffix(".py").replace("/", ".")
        assert any(f'"{module}"' in test.read_text() for test in (ROOT / "tests").rglob("test_*.py")), module


def test_tests_speak_of_their_status() -> None:
    """A row's tests name the status that they are for."""
    for line in SECTIONS["Status of a completion"].splitlines():
        found = re.match(r"\| `(\w+)`", line)
        for path, name in re.findall(r"`((?:tests|testbench)/[\w/]+\.py)::(\w+)`", line) if found else ():
            tree = ast.parse((ROOT / path).read_text())
            body = next(node for node in tree.body if getattr(node, "name", "") == name)
            assert found is not None
            # The bench of the queues takes its cases, status included, from a table.
            assert found.group(1) in ast.unparse(body) or path == "testbench/queue/queue_bench.py", (path, name)
