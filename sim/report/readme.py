"""Writes the figures of ``docs/figures`` into the README: ``python -m sim.report.readme README.md``."""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

CELLS = {"LUT4": "LUT4", "CCU2C": "carry", "TRELLIS_FF": "FF", "DP16KD": "block RAM", "TRELLIS_DPR16X4": "LUT RAM",
         "MULT18X18D": "DSP"}
"""ECP5 cells that the table shows, and what they are called there."""


def filled_in(page: str, figures: Path) -> str:
    """`page` with a table between every pair of marks ``<!-- NAME -->`` and ``<!-- /NAME -->``.

    Parameters
    ----------
    page : str
        Text of the page.
    figures : Path
        Folder with `cluster.json` and `fpga.json`.

    Raises
    ------
    ValueError
        If a mark is missing.
    """
    for name, table in (("cluster", _cluster_table), ("fpga", _fpga_table)):
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        count = len(re.findall(f"{start}.*?{end}", page, re.DOTALL))
        if count != 1:
            raise ValueError(f"the page must have the marks of {name!r} once, not {count} times")
        before, _, rest = page.partition(start)
        rows = "\n".join(table(json.loads((figures / f"{name}.json").read_text())))
        page = f"{before}{start}{rows}\n{end}{rest.partition(end)[2]}"
    return page


def _cluster_table(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield "| collective | algorithm | nodes | bytes | cycles | goodput | mismatched bits |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for row in rows:
        goodput = f"{row['goodput_fraction']:.1%}" if row["bytes"] else ""
        yield (f"| {row['collective']} | {row['algorithm']} | {row['nodes']} | {row['bytes']:,} | {row['cycles']:,} "
               f"| {goodput} | {row['mismatched_bits']} |")


def _fpga_table(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield f"| top | preset | {' | '.join(CELLS.values())} |"
    yield f"| --- | --- | {' | '.join('---:' for _ in CELLS)} |"
    for row in rows:
        counts = " | ".join(f"{row['cells'].get(cell, 0):,}" for cell in CELLS)
        yield f"| {row['top']} | `{row['preset']}` | {counts} |"


if __name__ == "__main__":
    readme = Path(sys.argv[1])
    readme.write_text(filled_in(readme.read_text(), readme.parent / "docs" / "figures"))
