"""Study `area`: what the offload unit takes of an UltraScale+ device, table 2 of the NIC paper."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from firmware_models.config import load_preset
from firmware_models.files import FileError, parse_json, read_text, shown, write_text
from fpga.offload_area import CATEGORIES, measure
from sim.report.progress import ProgressCallback
from sim.report.table import Row as Cells
from sim.study import StudyError, StudyResult
from sim.study.report.page import PageTable, text_tables, write_page
from sim.study.report.rows_file import judged

PRESETS = ("paper", "small")
_TITLES = dict(zip(
    CATEGORIES, ("LUT as logic", "LUT as memory", "registers", "block RAM", "UltraRAM", "DSP"), strict=True
))
_ABOUT = (
    "Table 2 of the NIC paper, measured again with Yosys: <code>synth_xilinx</code>, every block by itself, so nothing "
    "is simplified across them."
)


def run(
    *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback,
) -> StudyResult:
    """Synthesises the offload unit of preset `paper`, or of `small` if it is to be quick; parts are presets."""
    chosen = list(parts) or [PRESETS[1] if is_quick else PRESETS[0]]
    for part in chosen:
        if part not in PRESETS:
            raise StudyError(f"--part must be one of {', '.join(PRESETS)}, not {part!r}")
    rows: list[dict[str, Any]] = [row for file in row_files for row in _load(file)]
    known = {row["preset"] for row in rows}
    for number, part in enumerate(part for part in chosen if part not in known):
        progress("synthesis", number, len(chosen))
        rows.append(measure(part))
        progress("synthesis", number + 1, len(chosen))
    with judged(row_files):
        if save_rows is not None:
            write_text(save_rows, json.dumps(rows, indent=1) + "\n")
        found = [_claim(row) for row in rows]
        tables = [
            PageTable(f"{row['unit']}, preset {row['preset']}, {row['family']}", 1, list(_lines(row))) for row in rows
        ]
        write_page(folder, title="Area of the offload unit", about=_ABOUT, claims=found, tables=tables)
        return StudyResult(rows=rows, claims=found, table=text_tables(tables))


def _claim(row: dict[str, Any]) -> dict[str, Any]:
    """As the paper says of its table, packets are in block RAM. A tile holds 36 Kbit, an UltraRAM eight times that."""
    tiles = sum(
        block["block_ram"] + 8 * block["ultra_ram"] for block in row["blocks"] if block["block"] == "buffer"
    )
    needed = load_preset(row["preset"]).cou.buffer_bytes * 8 / (36 << 10)
    return {
        "claim": f"{row['preset']}: the packet buffer's payload is in block RAM",
        "holds": tiles >= needed, "measured": tiles, "expected": f"{needed:.1f} tiles or more",
    }


def _load(file: Path) -> list[dict[str, Any]]:
    """Rows as --save-rows writes them, or one by itself as it stands in ``docs/figures``."""
    try:
        content = parse_json(read_text(file))
    except FileError as error:
        raise StudyError(f"--rows: {shown(file)} {error}") from None
    rows = [content] if isinstance(content, dict) else content
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and row.get("preset") in PRESETS and isinstance(row.get("blocks"), list) for row in rows
    ):
        raise StudyError(f"--rows: {shown(file)} must be a file that --save-rows wrote")
    return rows


def _lines(row: dict[str, Any]) -> Iterator[Cells]:
    total = row["total"]
    yield ("block", *_TITLES.values())
    yield ("all", *(f"{total[name]:g}" for name in CATEGORIES))
    for block in row["blocks"]:
        yield (block["block"], *(f"{block[name]:g} ({100 * block['share'][name]:.1f}%)" for name in CATEGORIES))
