"""When each rank was where: in its own work, waiting for others, or waiting for the NICs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

MOST_OPERATIONS = 500


@dataclass(frozen=True)
class Stay:
    """An operation: when each of its ranks called, when the last had come, when it was over for each; in seconds."""

    operation: str
    ranks: tuple[int, ...]
    called: tuple[float, ...]
    over: tuple[float, ...]
    by: str

    @property
    def complete(self) -> float:
        """When the last rank had come."""
        return max(self.called)


@dataclass
class Timeline:
    """The first operations of a program.

    Members
    -------
    clock : str
        Whose seconds: the machine's, in which NICs take as long as their simulation, or simulated ones.
    """

    clock: str
    stays: list[Stay] = field(default_factory=list)
    left_out: int = 0

    def add(
        self, operation: str, ranks: Sequence[int], called: Sequence[float], over: Sequence[float], *, by: str
    ) -> None:
        """An operation that is over, `by` the NICs or begins now by MPI."""
        if len(self.stays) == MOST_OPERATIONS:
            self.left_out += 1
            return
        self.stays.append(Stay(operation, tuple(ranks), tuple(called), tuple(over), by))

    def report(self) -> dict[str, Any]:
        """Seconds since the first call, as ``--json`` has them."""
        begin = min((min(stay.called) for stay in self.stays), default=0.0)
        return {
            "clock": self.clock, "left_out": self.left_out,
            "operations": [
                {
                    "operation": stay.operation, "by": stay.by, "ranks": list(stay.ranks),
                    "called": [time - begin for time in stay.called], "complete": stay.complete - begin,
                    "over": [time - begin for time in stay.over],
                }
                for stay in self.stays
            ],
        }


def bars(timeline: dict[str, Any], *, width: float) -> dict[str, Any]:
    """Rows of bars for a picture `width` wide: for each rank what it waited for, and where that stands."""
    operations = timeline["operations"]
    end = max((max(row["over"]) for row in operations), default=0.0)
    scale = width / end if end else 0.0
    rows: dict[int, list[dict[str, Any]]] = {}
    for operation in operations:
        for rank, called, over in zip(operation["ranks"], operation["called"], operation["over"], strict=True):
            complete = min(max(operation["complete"], called), over)
            for kind, begin, until in (("waits", called, complete), (operation["by"], complete, over)):
                if until > begin:
                    title = f"{operation['operation']}, rank {rank}: {kind}, {1e6 * (until - begin):,.2f} µs from " \
                            f"{1e6 * begin:,.2f} µs"
                    wide = max(0.5, round((until - begin) * scale, 2))
                    rows.setdefault(rank, []).append(
                        {"kind": kind, "x": round(begin * scale, 2), "width": wide, "title": title}
                    )
    return {"seconds": end, "rows": [{"rank": rank, "bars": rows[rank]} for rank in sorted(rows)]}
