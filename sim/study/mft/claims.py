"""Claims of the study of multicast tables, each with the measured and the expected value."""

from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]
Claim = dict[str, Any]


def claims(rows: list[Row]) -> list[Claim]:
    """The claims that the rows can settle."""
    return [*_opensm(rows), *_speed(rows), *_best(rows), *_violations(rows)]


def _claim(claim: str, holds: bool, measured: Any, expected: Any) -> Claim:
    return {"claim": claim, "holds": bool(holds), "measured": measured, "expected": expected}


def _opensm(rows: list[Row]) -> Iterable[Claim]:
    """Beside OpenSM 3.3.23 itself, on the 40-port fat tree."""
    for row in (row for row in rows if row["kind"] == "opensm"):
        what, known = f"fat-tree:40, {row['pattern']} (last dimension fastest), {row['way']}", row["opensm"]
        if row["way"] == "minihop":
            measured = [row["max_efi"], row["max_entries"]]
            expected = [known["max_efi"], known["max_entries"]]
            yield _claim(f"{what}: max EFI and entries of the fullest table are OpenSM's", measured == expected,
                         measured, expected)
        else:
            yield _claim(f"{what}: max EFI at least 5 times lower than OpenSM's",
                         5 * row["max_efi"] <= known["max_efi"],
                         row["max_efi"], f"<= {known['max_efi'] / 5:g}")
            yield _claim(f"{what}: fewer seconds than OpenSM", row["cpu_seconds"] < known["seconds"],
                         row["cpu_seconds"], f"< {known['seconds']}")


def _speed(rows: list[Row]) -> Iterable[Claim]:
    for row in (row for row in rows if row["kind"] == "case" and row["way"] == "mr4lms"):
        size = row["mft_size"]
        what = f"{row['network']} {row['pattern']}, {'unlimited' if size is None else size} colours"
        if (row["topology"], row["pattern"]) == ("taihulight", "128x32x40"):
            most = 5 if size is None else 20
            yield _claim(f"{what}: at most {most} s", row["seconds"] <= most, row["seconds"], f"<= {most}")
        if row["topology"] == "fat-tree:40" and size is None:
            spent = round(1000 * row["seconds"] / row["groups"], 4)
            yield _claim(f"{what}: under 1 ms a group", spent < 1, spent, "< 1")


def _best(rows: list[Row]) -> Iterable[Claim]:
    """Policy `best` beside the faithful one on the networks without levels, colours unlimited."""
    whole = [row for row in rows if row["kind"] == "case" and row["mft_size"] is None]
    paper = {_key(row): row for row in whole if row["way"] == "mr4lms"}
    for row in whole:
        if row["way"] != "best" or _key(row) not in paper:
            continue
        other = paper[_key(row)]
        measured = {name: {"best": row[name], "paper": other[name]} for name in ("colours", "max_efi")}
        worse = any(row[name] > other[name] for name in measured)
        better = any(row[name] <= 0.9 * other[name] for name in measured)
        if row["is_hard"]:
            what = f"{row['network']} {row['label']}"
            yield _claim(f"{what}: best is never worse than paper in colours and EFI", not worse, measured,
                         "best <= paper")
            # With as many colours as the fullest table has entries there is none to be saved.
            if other["colours"] > other["max_entries"]:
                yield _claim(f"{what}: best has 10% fewer colours or lower EFI", better, measured,
                             "best <= 0.9 paper in one")


def _key(row: Row) -> tuple[str, str, int]:
    return row["topology"], row["pattern"], row["processes"]


def _violations(rows: list[Row]) -> Iterable[Claim]:
    counts = [row["violations"] for row in rows if row.get("violations") is not None]
    if counts:
        yield _claim(f"invariants hold in {len(counts)} results", not any(counts), sum(counts), 0)
