"""Study `area`: what the offload unit takes of an UltraScale+ device, table 2 of the NIC paper."""

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from firmware_models.config import load_preset
from fpga.offload_area import CATEGORIES, measure
from sim.report.progress import ProgressCallback
from sim.study import StudyError, StudyResult

PRESETS = ("paper", "small")
_TITLES = dict(zip(
    CATEGORIES, ("LUT as logic", "LUT as memory", "registers", "block RAM", "UltraRAM", "DSP"), strict=True
))


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
    if save_rows is not None:
        save_rows.write_text(json.dumps(rows, indent=1) + "\n")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(_page(rows))
    return StudyResult(rows=rows, claims=[_claim(row) for row in rows], table="\n\n".join(map(_table, rows)))


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
    try:
        rows: list[dict[str, Any]] = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise StudyError(f"--rows: {str(file)!r} cannot be read: {error}") from None
    return rows


def _lines(row: dict[str, Any]) -> list[tuple[str, list[str]]]:
    total = row["total"]
    lines = [("all", [f"{total[name]:g}" for name in CATEGORIES])]
    return lines + [
        (block["block"], [f"{block[name]:g} ({100 * block['share'][name]:.1f}%)" for name in CATEGORIES])
        for block in row["blocks"]
    ]


def _table(row: dict[str, Any]) -> str:
    head = f"{row['unit']}, preset {row['preset']}, {row['family']}"
    lines = [("block", list(_TITLES.values())), *_lines(row)]
    return "\n".join([head, *(f"{name:24}" + "".join(f"{cell:>20}" for cell in cells) for name, cells in lines)])


def _page(rows: Sequence[dict[str, Any]]) -> str:
    tables = []
    for row in rows:
        heads = "".join(f"<th>{escape(title)}</th>" for title in ("block", *_TITLES.values()))
        body = "".join(
            f"<tr><td>{escape(name)}</td>" + "".join(f"<td align=right>{cell}</td>" for cell in cells) + "</tr>"
            for name, cells in _lines(row)
        )
        tables.append(
            f"<h2>{row['unit']}, preset {row['preset']}</h2>"
            f"<p>{escape(row['family'])}</p>"
            f"<table border=1 cellspacing=0 cellpadding=4><tr>{heads}</tr>{body}</table>"
        )
    return (
        "<!doctype html><meta charset=utf-8><title>Area of the offload unit</title><h1>Area of the offload unit</h1>"
        "<p>Table 2 of the NIC paper, measured again with Yosys: synth_xilinx, every block by itself, so nothing is "
        "simplified across them.</p>" + "".join(tables)
    )
