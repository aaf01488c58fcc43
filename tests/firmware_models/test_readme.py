"""The examples of the folder's page run, and the algorithm that it shows is right."""

import re
import textwrap
from pathlib import Path

from firmware_models.schedule import Source, Step, build, check
from firmware_models.schedule.registry import _collective, algorithm

PAGE = Path(__file__).resolve().parents[2] / "firmware_models" / "README.md"
EXAMPLES = [textwrap.dedent(text) for text in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)]


def test_collective(capsys):
    exec(EXAMPLES[0], {})
    assert len(capsys.readouterr().out.strip()) == 64


def test_new_algorithm():
    try:
        exec(EXAMPLES[1], {"algorithm": algorithm, "Source": Source, "Step": Step})
        for n_nodes in range(2, 18):
            assert check(build("barrier", "star", n_nodes=n_nodes), n_peers=16).ok
    finally:
        _collective("barrier").algorithms.pop("star", None)
