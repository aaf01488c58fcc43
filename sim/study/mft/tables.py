"""The tables of ``docs/routing.md``, made from the rows of ``docs/figures/routing.json``."""

from collections.abc import Iterator
from typing import Any

from sim.report.table import Row

_Case = dict[str, Any]


def cases(figures: dict[str, Any]) -> Iterator[Row]:
    """A line a case: what the paper reports stands in brackets."""
    found: dict[tuple[str, str], dict[tuple[str, bool], _Case]] = {}
    for row in figures["rows"]:
        if row["kind"] == "case":
            found.setdefault((row["network"], row["label"]), {})[row["way"], row["mft_size"] is None] = row
    yield ("network", "pattern", "groups", "colours", "best", "EFI minihop", "sssp", "mr4lms", "best", "table", "EFI",
           "best", "TFI", "mean", "s", "s, limited")
    for (network, label), rows in found.items():
        whole, sized, best = rows["mr4lms", True], rows["mr4lms", False], rows["best", True]
        known = whole["paper"]

        def beside(value: Any, name: str, known: dict[str, Any] = known) -> str:
            return f"{value} ({known[name]})" if name in known else f"{value}"

        yield (
            network, label, f"{whole['groups']:,}", beside(whole["colours"], "colours"), best["colours"],
            rows["minihop", True]["max_efi"], rows["sssp", True]["max_efi"], beside(whole["max_efi"], "max_efi"),
            best["max_efi"], sized["mft_size"], beside(sized["max_efi"], "merged_efi"),
            rows["best", False]["max_efi"], beside(sized["max_tfi"], "max_tfi"),
            beside(f"{sized['mean_tfi']:.2f}", "mean_tfi"), beside(f"{whole['seconds']:.2f}", "seconds"),
            beside(f"{sized['seconds']:.2f}", "merged_seconds"),
        )


def beside_opensm(figures: dict[str, Any]) -> Iterator[Row]:
    """Beside OpenSM itself, on the 40-port fat tree."""
    yield ("grid, last dimension fastest", "way", "colours", "max EFI", "entries", "processor s", "OpenSM: EFI",
           "entries", "s")
    for row in figures["rows"]:
        if row["kind"] == "opensm":
            known = row["opensm"]
            yield (row["pattern"], row["way"], row["colours"], row["max_efi"], row["max_entries"],
                   f"{row['cpu_seconds']:.3f}", known["max_efi"], known["max_entries"], f"{known['seconds']:.3f}")
