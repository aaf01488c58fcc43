"""Files of measured figures: a list of rows in JSON, of which one may be measured again."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def replace_rows(file: Path, rows: Iterable[dict[str, Any]], *, key: str, order: Iterable[str]) -> None:
    """Puts rows into a file in place of those with the same key; each as soon as it is there.

    Parameters
    ----------
    file : Path
        The file; made if need be.
    rows : iterable of dict
        The new rows; may be measured one by one.
    key : str
        What tells rows apart.
    order : iterable of str
        Keys in the order of the file; rows with others are left out.
    """
    known = {row[key]: row for row in json.loads(file.read_text())} if file.exists() else {}
    order = tuple(order)
    for row in rows:
        known[row[key]] = row
        file.write_text(json.dumps([known[name] for name in order if name in known], indent=1) + "\n")
