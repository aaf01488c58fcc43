"""The example of the page runs."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "routing.md"


def test_example(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(example, {})
    # Row and column meet at the first switch: two colours.
    assert capsys.readouterr().out == "2\n"
