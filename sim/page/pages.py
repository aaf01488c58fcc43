"""Writes the figures of ``docs/figures`` into the pages that show them.

``python -m sim.page.pages README.md docs/reduce.md``, from the top folder.
"""

import json
import re
import sys
from pathlib import Path

from sim.page.tables import TABLES


def filled_in(page: str, figures: Path) -> str:
    """`page` with a table between every pair of marks ``<!-- table NAME -->`` and ``<!-- /table NAME -->``.

    Parameters
    ----------
    page : str
        Text of the page.
    figures : Path
        Folder with the JSON files that the tables are made of.

    Raises
    ------
    ValueError
        If a mark has no end, or a name that is not in :data:`~sim.page.tables.TABLES`.
    """
    for name in re.findall(r"<!-- table (\w+) -->", page):
        if name not in TABLES:
            raise ValueError(f"a table must be one of {', '.join(TABLES)}, not {name!r}")
        start, end = f"<!-- table {name} -->\n", f"<!-- /table {name} -->"
        before, _, rest = page.partition(start)
        if end not in rest:
            raise ValueError(f"the table {name!r} must end with a mark {end!r}")
        table = TABLES[name]
        lines = "\n".join(table.lines(json.loads((figures / f"{table.source}.json").read_text())))
        page = f"{before}{start}{lines}\n{end}{rest.partition(end)[2]}"
    return page


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        path = Path(argument)
        path.write_text(filled_in(path.read_text(), Path("docs", "figures")))
