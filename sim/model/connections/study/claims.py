"""Claims of the study of connection memory, each with the measured and the expected value."""

import math
from collections.abc import Iterable
from typing import Any

from firmware_models.connections.paper import Verdict

Row = dict[str, Any]
Claim = dict[str, Any]

CONTRADICTIONS = {"XRC_S_G, 16,384 processes"}
"""Printed numbers that no formula and no known derivation gives; every other one has to come out."""
MILLION_SECONDS = 60


def claims(rows: list[Row]) -> list[Claim]:
    """The claims that the rows can settle."""
    return [*_printed(rows), *_readings(rows), *_orders(rows), *_growth(rows), *_best(rows), *_runs(rows), *_nic(rows)]


def _claim(claim: str, holds: bool, measured: Any, expected: Any) -> Claim:
    return {"claim": claim, "holds": bool(holds), "measured": measured, "expected": expected}


def _printed(rows: list[Row]) -> Iterable[Claim]:
    """Each printed number comes from its formula, or from its description."""
    for row in (row for row in rows if row["kind"] == "printed"):
        what = f"{row['place']}, {row['what']}"
        unit = f" {row['unit']}" if row["unit"] else ""
        value, printed = round(row["value"], 5), f"{row['printed']}{unit}"
        verdict = Verdict[row["verdict"]]
        if verdict is Verdict.ROUNDED:
            yield _claim(f"{what}: the formula gives what is printed", True, value, printed)
        elif verdict is Verdict.TRUNCATED:
            yield _claim(f"{what}: the formula gives what is printed if digits are cut off", True, value, printed)
        elif verdict is Verdict.OTHERWISE:
            yield _claim(f"{what}: the formula gives another number, {row['derivation']} the printed one", True,
                         [value, round(row["derived"], 5)], printed)
        else:
            nearest = [[number, round(megabytes, 4)] for _, number, megabytes in row["nearest"]]
            yield _claim(f"{what}: contradicts its formula, and no whole number of connections gives it",
                         row["what"] in CONTRADICTIONS
                         and all(abs(megabytes - float(row["printed"])) > row["tolerance"] for _, megabytes in nearest),
                         {"formula": value, "nearest connections": nearest}, printed)


def _readings(rows: list[Row]) -> Iterable[Claim]:
    found = [row for row in rows if row["kind"] == "reading"]
    if found:
        best = max(found, key=lambda row: row["as_printed"])
        others = max(row["as_printed"] for row in found if row is not best)
        yield _claim("8 kB is 8,000 bytes but for section 4.2, MB is 10^6 bytes: no reading gives more numbers",
                     (best["table_buffer_bytes"], best["section_4_buffer_bytes"], best["megabyte_bytes"])
                     == (8000, 8192, 10**6) and best["as_printed"] > others, best["as_printed"], f"> {others}")


def _orders(rows: list[Row]) -> Iterable[Claim]:
    """"Two orders of magnitude" (abstract, section 3.2)."""
    found = {row["what"]: row["value"] for row in rows if row["kind"] == "printed"}
    if found:
        ratios = [round(found[f"RC, m = 1000, c = {cores}, a process"]
                        / found[f"XRC_M, m = 1000, c = {cores}, a process"], 1) for cores in (8, 16)]
        yield _claim("table 1: XRC_M takes two orders of magnitude less than RC (8 cores, 16 cores)",
                     all(round(math.log10(ratio)) == 2 for ratio in ratios), ratios, "about 100")


def _growth(rows: list[Row]) -> Iterable[Claim]:
    """"Relatively constant" (abstract): fixed groups grow still, as slowly as they are large."""
    found = {(row["scheme"], row["choice"], row["processes"]): row["process_mb"]
             for row in rows if row["kind"] == "scale"}
    if found:
        small, large = 1_000_000, 10_000_000

        def growth(scheme: str, choice: str) -> float:
            return float(found[scheme, choice, large] - found[scheme, choice, small])

        slope = growth("xrc", "") / growth("group-xrc", "4096")
        yield _claim("1 to 10 million processes: groups of 4,096 grow 1,024 times as slowly as XRC, linearly still",
                     abs(slope / 1024 - 1) < 0.01, round(slope, 1), "1024 within 1%")
        root = found["group-xrc", "best", large] / found["group-xrc", "best", small]
        yield _claim("1 to 10 million processes: with the best group size memory grows as the square root",
                     abs(root / math.sqrt(10) - 1) < 0.01, round(root, 4), "3.1623 within 1%")


def _best(rows: list[Row]) -> Iterable[Claim]:
    found = [row for row in rows if row["kind"] == "best"]
    for row in found:
        yield _claim(f"{row['processes']:,} processes, {row['cores']} cores, {row['scheme']}: groups of "
                     f"{row['group_size']:,} take no more than groups of 4,096",
                     row["process_mb"] <= row["usual_mb"], round(row["process_mb"], 3),
                     f"<= {row['usual_mb']:.3f}")


def _runs(rows: list[Row]) -> Iterable[Claim]:
    found = [row for row in rows if row["kind"] == "run"]
    if not found:
        return
    wrong = [row["trace"] for row in found if row["static_queue_pairs"] != row["formula_queue_pairs"]]
    yield _claim(f"static queue pairs are those of the formula in {len(found)} runs", not wrong, len(wrong), 0)
    left = sum(row["opened"] - row["closed"] for row in found)
    yield _claim("every dynamic queue pair is torn down", not left, left, 0)
    broken = sum(row["violations"] for row in found)
    yield _claim(f"invariants hold in {len(found)} runs", not broken, broken, 0)
    slowest = max((row["seconds"] for row in found if row["processes"] >= 1_000_000 and row["messages"] < 10**8),
                  default=None)
    if slowest is not None:
        yield _claim(f"a million processes: under {MILLION_SECONDS} s", slowest < MILLION_SECONDS, slowest,
                     f"< {MILLION_SECONDS}")


def _nic(rows: list[Row]) -> Iterable[Claim]:
    """The NIC of preset `paper`, beside the same messages over connections."""
    found = [row for row in rows if row["kind"] == "run" and row["policy"] == "connect"]
    if found:
        lacking = [row["trace"] for row in found if not row["nic"]["is_enough"]]
        yield _claim("preset paper has VPs, windows and NodeIDs enough for every run", not lacking, lacking, [])
    stencils = [row for row in found if row["trace"].startswith("stencil") and row["choice"] == "best"]
    if stencils:
        row = max(stencils, key=lambda row: row["processes"])
        ratio = row["process_mb"] / row["nic"]["process_mb"]
        yield _claim(f"{row['trace']}: rings of a VP take less than a hundredth of the connections, best group size",
                     ratio > 100, round(ratio), "> 100")
