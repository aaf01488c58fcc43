"""The example of the page runs."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "connections.md"


def test_example(capsys) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(example, {})
    # Half a plane of 20 x 20 is a group: neighbours along the third axis are counterparts, and so need no handshake.
    assert capsys.readouterr().out == "200 90 400\n"
