"""A connection manager without tricks: sets and lists, every static connection written down. For small layouts."""

from dataclasses import dataclass, field

from firmware_models.connections import Layout, Policy
from firmware_models.connections.trace import Trace


def static_units(layout: Layout) -> list[set[int]]:
    """Units that each process is connected with, by section 4.1: its group, and its index in the other groups."""
    n, members = layout.n_processes, layout.members
    unit = layout.unit_processes
    groups = [list(range(first, min(first + members, n))) for first in range(0, n, members)]
    found: list[set[int]] = [set() for _ in range(n)]
    for group in groups:
        for index, process in enumerate(group):
            for other in group:
                if other != process or layout.scheme.traits.has_xrc:
                    found[process].add(other // unit)
            for another in groups:
                if another is not group and index < len(another):
                    found[process].add(another[index] // unit)
    return found


@dataclass
class NaiveManager:
    """Does what :func:`run_trace` does, one message at a time."""

    layout: Layout
    policy: Policy
    buffer_bytes: int
    messages: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("self", "static", "dynamic", "proxied"), 0))
    handshakes: int = 0
    evictions: int = 0
    opened: int = 0
    closed: int = 0
    live_peak: int = 0

    def __post_init__(self) -> None:
        n = self.layout.n_processes
        self.static = static_units(self.layout)
        self.live: list[dict[int, int]] = [{} for _ in range(n)]  # unit: phase of last use; the order is that of use
        self.twin: dict[tuple[int, int], tuple[int, int]] = {}
        self.proxied: dict[tuple[int, int], list[int]] = {}  # messages, phase of last use
        self.peak, self.relayed, self.waits = [0] * n, [0] * n, []

    def run(self, trace: Trace) -> "NaiveManager":
        """All messages, then the end of the job."""
        phase = 0
        for chunk in trace.chunks():
            for here, there, size, new in zip(*(column.tolist() for column in (
                    chunk.source, chunk.destination, chunk.n_bytes, chunk.phase)), strict=True):
                if new != phase:
                    phase = new
                    self._drop_idle(phase)
                self._send(here, there, size, phase)
        for process, units in enumerate(self.live):
            for unit in list(units):
                if unit in self.live[process]:
                    self._close(process, unit)
        return self

    def _send(self, here: int, there: int, size: int, phase: int) -> None:
        unit = there // self.layout.unit_processes
        if here == there:
            self.messages["self"] += 1
        elif unit in self.static[here]:
            self.messages["static"] += 1
        elif unit in self.live[here]:
            self.messages["dynamic"] += 1
            self._use(here, unit, phase)
            if (here, unit) in self.twin:
                self._use(*self.twin[here, unit], phase)
        elif size <= self.buffer_bytes and self._may_proxy(here, unit):
            self.messages["proxied"] += 1
            self.relayed[self._between(here, there)] += 1
            self.waits.append((here, phase, "proxy", size))
            if self.policy.proxy_messages is not None:
                count = self.proxied.pop((here, unit), [0, 0])[0]
                self.proxied[here, unit] = [count + 1, phase]
        else:
            self.messages["dynamic"] += 1
            self.handshakes += 1
            self.relayed[self._between(here, there)] += 2
            back = here // self.layout.unit_processes
            made = self._open(here, unit, phase) + self._open(there, back, phase)
            if not self.layout.scheme.traits.has_xrc:
                self.twin[here, unit], self.twin[there, back] = (there, back), (here, unit)
            self.waits.append((here, phase, "handshake", made))

    def _may_proxy(self, here: int, unit: int) -> bool:
        most = self.policy.proxy_messages
        return most is None or self.proxied.get((here, unit), [0, 0])[0] < most

    def _between(self, here: int, there: int) -> int:
        """A process that both reach; the source's counterpart if there is one."""
        group = there // self.layout.members * self.layout.members
        counterpart = group + here % self.layout.members
        if counterpart >= self.layout.n_processes:
            counterpart = here // self.layout.members * self.layout.members + there % self.layout.members
        assert counterpart // self.layout.unit_processes in self.static[here]
        assert there // self.layout.unit_processes in self.static[counterpart]
        return counterpart

    def _use(self, process: int, unit: int, phase: int) -> None:
        del self.live[process][unit]
        self.live[process][unit] = phase

    def _open(self, process: int, unit: int, phase: int) -> int:
        if unit in self.live[process]:
            self._use(process, unit, phase)
            return 0
        if self.policy.max_dynamic is not None and len(self.live[process]) >= self.policy.max_dynamic:
            self.evictions += 1
            self._close(process, next(iter(self.live[process])))
        self.proxied.pop((process, unit), None)
        self.live[process][unit] = phase
        self.opened += 1
        self.peak[process] = max(self.peak[process], len(self.live[process]))
        self.live_peak = max(self.live_peak, sum(map(len, self.live)))
        return 1

    def _close(self, process: int, unit: int) -> None:
        del self.live[process][unit]
        self.closed += 1
        twin = self.twin.pop((process, unit), None)
        if twin is not None:
            del self.twin[twin]
            self._close(*twin)

    def _drop_idle(self, phase: int) -> None:
        most = self.policy.idle_phases
        if most is None:
            return
        for process, units in enumerate(self.live):
            for unit, last in list(units.items()):
                if unit in units and phase - last > most:
                    self._close(process, unit)
        for key in [key for key, (_, last) in self.proxied.items() if phase - last > most]:
            del self.proxied[key]
