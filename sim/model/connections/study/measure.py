"""The study of connection memory: the paper's numbers, memory by processes, group sizes, and runs of the manager."""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from firmware_models.config import load_preset
from firmware_models.connections import (
    Layout,
    Machine,
    QueueSizes,
    Scheme,
    best_group_size,
    group_size_curve,
    process_bytes,
    queue_pairs,
    run_trace,
    violations,
)
from firmware_models.connections.paper import (
    GROUP_SIZE,
    PAPER,
    TABLE_2_PROCESSES,
    Verdict,
    nearest_connections,
    printed_numbers,
    readings,
)
from firmware_models.connections.trace import parse_trace
from firmware_models.connections.virtual_ports import largest_process_bytes, ring_need, virtual_ports
from sim.model.connections.rows import formula_row, nic_row, run_row
from sim.model.connections.study.cases import CORES, FULL, MACHINES, POLICIES, QUICK, Case, schedule_cases
from sim.report.progress import ProgressCallback

Row = dict[str, Any]


def rows(*, is_quick: bool, parts: Collection[str], progress: ProgressCallback) -> Iterator[Row]:
    """A row a figure, of all parts if none is named.

    `kind` is "printed", "reading", "srq", "scale", "rings", "best", "curve" or "run".
    """
    found = {"paper": _paper, "scale": _scale, "groups": _groups}
    for part, make in found.items():
        if not parts or part in parts:
            yield from make()
    cases: list[Case] = []
    if not parts or "runs" in parts:
        cases += QUICK if is_quick else FULL
    if not parts or "schedules" in parts:
        cases += schedule_cases(16 if is_quick else 256)
    total, done = sum(len(case.policies) for case in cases), 0
    for case in cases:
        for row in _runs(case):
            progress("runs", done, total)
            done += 1
            yield row
    progress("runs", total, total)


def _paper() -> Iterator[Row]:
    for number in printed_numbers():
        nearest = nearest_connections(number) if number.verdict is Verdict.NONE else []
        yield {"kind": "printed", "place": number.place, "what": number.what, "unit": number.unit,
               "printed": number.printed, "value": number.value, "tolerance": number.tolerance,
               "verdict": number.verdict.name, "derivation": number.derivation, "derived": number.derived,
               "nearest": nearest}
    for reading, count in readings():
        yield {"kind": "reading", "table_buffer_bytes": reading.table_buffer_bytes,
               "section_4_buffer_bytes": reading.section_4_buffer_bytes, "megabyte_bytes": reading.megabyte_bytes,
               "as_printed": count}
    # Section 5 says that a shared receive queue has 8,192 buffers; its table 2 does not count them.
    fixed = QueueSizes(buffer_bytes=8000, srq_depth=8192)
    for n_processes in TABLE_2_PROCESSES:
        for scheme in (Scheme.RC_SRQ, Scheme.GROUP_XRC):
            machine = Machine(n_processes=n_processes, n_cores=CORES)
            group_size = min(GROUP_SIZE, n_processes) if scheme.traits.is_grouped else None
            yield {"kind": "srq", "processes": n_processes, "formula_mb":
                   process_bytes(scheme, machine, PAPER.table_sizes, group_size) / 1e6,
                   **formula_row(scheme, machine, fixed, group_size)}


def _scale() -> Iterator[Row]:
    """Processes from 1,024 to 10 million, a machine of 4 cores a node."""
    sizes = QueueSizes()
    for n_processes in [*(1 << power for power in range(10, 24)), 1_000_000, 10_000_000]:
        machine = Machine(n_processes=n_processes, n_cores=CORES)
        for scheme in Scheme:
            if not scheme.traits.is_grouped:
                yield {"kind": "scale", "processes": n_processes, "choice": "",
                       **formula_row(scheme, machine, sizes, None)}
                continue
            chosen = {f"{GROUP_SIZE}": min(GROUP_SIZE, n_processes),
                      "best": best_group_size(scheme, machine).group_size}
            for choice, group_size in chosen.items():
                yield {"kind": "scale", "processes": n_processes, "choice": choice,
                       **formula_row(scheme, machine, sizes, group_size)}
    yield {"kind": "rings", "largest_process_mb": largest_process_bytes() / 1e6}


def _groups() -> Iterator[Row]:
    """The best group size of some machines, beside that of the paper, and all sizes of one of them."""
    sizes = QueueSizes()
    for n_processes, n_cores in MACHINES:
        machine = Machine(n_processes=n_processes, n_cores=n_cores)
        for scheme in (Scheme.GROUP, Scheme.GROUP_XRC):
            best = best_group_size(scheme, machine)
            usual = min(GROUP_SIZE, n_processes)
            yield {"kind": "best", "processes": n_processes, "cores": n_cores,
                   **formula_row(scheme, machine, sizes, best.group_size),
                   "usual_queue_pairs": queue_pairs(scheme, machine, usual),
                   "usual_mb": process_bytes(scheme, machine, sizes, usual) / 1e6}
            if (n_processes, n_cores) in ((320_000, 4), (1_000_000, 4)):
                for point in group_size_curve(scheme, machine):
                    yield {"kind": "curve", "processes": n_processes, "cores": n_cores, "scheme": scheme.value,
                           "group_size": point.group_size,
                           "process_mb": int(sizes.held_bytes(scheme, np.array([point.n_queue_pairs]))[0]) / 1e6}


def _runs(case: Case) -> Iterator[Row]:
    """A row for each way to run a case, with what the NIC of preset `paper` needs for it."""
    machine = Machine(n_processes=case.processes, n_cores=case.cores)
    group_size = best_group_size(case.scheme, machine).group_size if case.group_size is None else case.group_size
    layout = Layout(scheme=case.scheme, machine=machine, group_size=group_size)
    trace = parse_trace(case.trace, case.processes)
    config = load_preset("paper")
    ports = nic_row(virtual_ports(machine, ring_need(trace, config), config))
    for name in case.policies:
        run = run_trace(layout, trace, policy=POLICIES[name])
        yield {"kind": "run", "trace": case.trace, "policy": name, "choice": "best" if case.group_size is None else "",
               **run_row(run), "violations": len(violations(run)), "nic": ports}
