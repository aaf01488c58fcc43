"""The table of ``docs/routing.md``, made from the rows of ``docs/figures/routing.json``."""

from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]


def routing_table(figures: dict[str, Any]) -> Iterator[str]:
    """Both tables."""
    yield from _cases(figures)
    yield from ("", "Beside OpenSM 3.3.23 itself on `fat-tree:40`:", "")
    yield from _opensm(figures)


def _cases(figures: dict[str, Any]) -> Iterator[str]:
    """A line a case: what the paper reports stands in brackets."""
    cases: dict[tuple[str, str], dict[tuple[str, bool], Row]] = {}
    for row in figures["rows"]:
        if row["kind"] == "case":
            cases.setdefault((row["network"], row["label"]), {})[row["way"], row["mft_size"] is None] = row
    yield ("| network | pattern | groups | colours | best | EFI minihop | sssp | mr4lms | best | table | EFI | best "
           "| TFI | mean | s | s, limited |")
    yield f"| --- | --- |{' ---: |' * 14}"
    for (network, label), rows in cases.items():
        whole, sized, best = rows["mr4lms", True], rows["mr4lms", False], rows["best", True]
        known = whole["paper"]

        def beside(value: Any, name: str, known: dict[str, Any] = known) -> str:
            return f"{value} ({known[name]})" if name in known else f"{value}"

        yield "| " + " | ".join([
            network, label, f"{whole['groups']:,}", beside(whole["colours"], "colours"), str(best["colours"]),
            str(rows["minihop", True]["max_efi"]), str(rows["sssp", True]["max_efi"]),
            beside(whole["max_efi"], "max_efi"), str(best["max_efi"]), str(sized["mft_size"]),
            beside(sized["max_efi"], "merged_efi"), str(rows["best", False]["max_efi"]),
            beside(sized["max_tfi"], "max_tfi"), beside(f"{sized['mean_tfi']:.2f}", "mean_tfi"),
            beside(f"{whole['seconds']:.2f}", "seconds"), beside(f"{sized['seconds']:.2f}", "merged_seconds")]) + " |"


def _opensm(figures: dict[str, Any]) -> Iterator[str]:
    """Beside OpenSM itself, on the 40-port fat tree."""
    yield ("| grid, last dimension fastest | way | colours | max EFI | entries | processor s | OpenSM: EFI | entries "
           "| s |")
    yield f"| --- | --- |{' ---: |' * 7}"
    for row in figures["rows"]:
        if row["kind"] == "opensm":
            known = row["opensm"]
            yield (f"| {row['pattern']} | {row['way']} | {row['colours']} | {row['max_efi']} "
                   f"| {row['max_entries']} | {row['cpu_seconds']:.3f} | {known['max_efi']} | {known['max_entries']} "
                   f"| {known['seconds']:.3f} |")
