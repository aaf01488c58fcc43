"""Tally of a program's collectives: counts, cycles, differences."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from sim.mpi.symbols import limits
from sim.mpi.wire import REASONS, Collective, Reason

MOST_DIFFERENCES = 20


@dataclass
class Tally:
    """Figures, collected while a program runs."""

    flit_bytes: int
    cycles: dict[tuple[str, int, int, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    """By operation, bytes, ranks and algorithm."""
    by_hosts: dict[tuple[str, int, int, str], int] = field(default_factory=dict)
    """Of the same: cycles that the host model gives."""
    passed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Calls of ranks that MPI carried out, by operation and reason."""
    received: dict[tuple[str, int, int, str], int] = field(default_factory=dict)
    """Of the same: bytes of the message that the busiest rank receives."""
    processes: int = 0
    """Processes that the simulator knows of; by MPI_Init, or by a session."""
    initialized: int = 0
    """Those that have called MPI_Init."""
    calls: int = 0
    offloaded: int = 0
    checked: int = 0
    differing: int = 0
    differences: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """Of calls that nothing here sees."""

    def add(
        self, name: str, size: int, ranks: int, algorithm: str, cycles: int, *, by_hosts: Callable[[], int] = lambda: 0,
        received: Callable[[], int] = lambda: 0,
    ) -> None:
        """An operation that the NICs have carried out; the functions are asked once for each row of the table."""
        row = name, size, ranks, algorithm
        if row not in self.by_hosts:
            self.by_hosts[row] = by_hosts()
            self.received[row] = received()
        self.cycles[row].append(cycles)
        self.calls += ranks
        self.offloaded += ranks

    def add_passed(self, name: str, reason: str, calls: int) -> None:
        """Calls that were MPI's own."""
        self.passed[name, reason] += calls
        self.calls += calls

    def add_difference(self, line: str) -> None:
        """A description of an element that differs from MPI's; the first few are kept."""
        if len(self.differences) < MOST_DIFFERENCES:
            self.differences.append(line)

    def operations(self) -> list[dict[str, Any]]:
        """A row for each operation and size."""
        return [
            {
                "operation": name, "bytes": size, "ranks": ranks, "algorithm": algorithm, "operations": len(cycles),
                "cycles_min": min(cycles), "cycles_median": round(median(cycles)), "cycles_max": max(cycles),
                "goodput_fraction": self._goodput((name, size, ranks, algorithm)),
                "cycles_by_hosts": self.by_hosts[name, size, ranks, algorithm],
            }
            for (name, size, ranks, algorithm), cycles in sorted(self.cycles.items())
        ]

    def _goodput(self, row: tuple[str, int, int, str]) -> float:
        """Bytes that the busiest rank receives over what its link carries in the median of the cycles."""
        cycles = self.cycles[row]
        return self.received[row] / (self.flit_bytes * median(cycles)) if any(cycles) else 0.0

    @property
    def note(self) -> str | None:
        """Why there is nothing to report, if there is nothing; and what the report does not see."""
        lines = [*self._nothing(), *self.remarks]
        return "; ".join(lines) if lines else None

    def _nothing(self) -> list[str]:
        if self.calls:
            return []
        if not self.processes:
            return ["no rank has begun MPI by an MPI_ name of MPICH's ABI: it is a program without MPI, one with its "
                    "MPI linked statically, one that opens MPI by itself (dlopen), or one that calls PMPI_ names alone",
                    *limits()]
        if not self.initialized:
            return ["ranks have begun MPI by sessions alone, whose collectives are MPI's, and have called none"]
        aside = "" if self.remarks else " (what is called by a PMPI_ name is MPI's, and is not counted)"
        return [f"no collective was called by its MPI_ name{aside}"]

    def report(self) -> dict[str, Any]:
        """Everything, as `--json` has it."""
        return {
            "calls": self.calls, "offloaded": self.offloaded, "note": self.note,
            "offloaded_fraction": self.offloaded / self.calls if self.calls else 0.0,
            "cycles": sum(map(sum, self.cycles.values())), "operations": self.operations(),
            "passed": [
                {"operation": name, "reason": reason, "calls": calls}
                for (name, reason), calls in sorted(self.passed.items())
            ],
            "checked_elements": self.checked, "differing_elements": self.differing, "differences": self.differences,
        }


def reason_text(reason: int) -> str:
    """Why a call was MPI's own."""
    return REASONS[Reason(reason)]


def name_of(collective: int) -> str:
    """A collective as MPI writes it."""
    return Collective(collective).mpi_name
