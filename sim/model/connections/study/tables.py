"""The tables of ``docs/connections.md`` and of the study's page, made from the rows of the study."""

from collections.abc import Iterator
from typing import Any

from firmware_models.connections.paper import Verdict
from sim.report.table import Row

_Figures = dict[str, Any]


def _of(figures: _Figures, kind: str) -> list[_Figures]:
    return [row for row in figures["rows"] if row["kind"] == kind]


def printed(figures: _Figures) -> Iterator[Row]:
    """Every printed number beside its formula."""
    yield "place", "what", "how the printed number comes about", "printed", "formula"
    for row in _of(figures, "printed"):
        verdict = Verdict[row["verdict"]]
        if verdict is Verdict.OTHERWISE:
            how = f"{row['derivation']} = {row['derived']:.6g}"
        elif verdict is Verdict.NONE:
            nearest = " or ".join(f"{number:,} connections ({megabytes:.3f}; 8 kB = {reading} B)"
                                  for reading, number, megabytes in row["nearest"])
            how = f"{verdict.value}; nearest {nearest}"
        else:
            how = verdict.value
        unit = f" {row['unit']}" if row["unit"] else ""
        yield row["place"], row["what"], how, f"{row['printed']}{unit}", f"{row['value']:,.6g}{unit}"


def readings(figures: _Figures) -> Iterator[Row]:
    """How many numbers each reading of the units gives."""
    yield "8 kB in sections 1 to 3 and table 2", "8 kB in section 4.2", "MB", "numbers as printed"
    for row in _of(figures, "reading"):
        yield (f"{row['table_buffer_bytes']:,}", f"{row['section_4_buffer_bytes']:,}",
               "10^6" if row["megabyte_bytes"] == 10**6 else "2^20", row["as_printed"])


def srq(figures: _Figures) -> Iterator[Row]:
    """Section 5's implementation beside its table 2."""
    yield "scheme", "processes", "MB by formula (table 2)", "MB with 8,192 buffers a receive queue"
    for row in _of(figures, "srq"):
        yield row["scheme"], f"{row['processes']:,}", f"{row['formula_mb']:.3f}", f"{row['process_mb']:.3f}"


def scale(figures: _Figures) -> Iterator[Row]:
    """A column a scheme, a line a number of processes."""
    rows = _of(figures, "scale")
    columns = list(dict.fromkeys((row["scheme"], row["choice"]) for row in rows))
    yield "processes", *(f"{scheme} {choice}".strip() for scheme, choice in columns)
    found = {(row["processes"], row["scheme"], row["choice"]): row["process_mb"] for row in rows}
    for n_processes in (1024, 8192, 65536, 524288, 1_000_000, 10_000_000):
        if rows:
            yield f"{n_processes:,}", *(f"{found[n_processes, *column]:,.4g}" for column in columns)


def best(figures: _Figures) -> Iterator[Row]:
    """The best group size of each machine, beside groups of 4,096."""
    yield "scheme", "processes", "cores", "best group", "groups", "queue pairs", "MB", "with 4,096", "MB"
    for row in _of(figures, "best"):
        yield (row["scheme"], f"{row['processes']:,}", row["cores"], f"{row['group_size']:,}", f"{row['groups']:,}",
               f"{row['queue_pairs']:,}", f"{row['process_mb']:.3f}", f"{row['usual_queue_pairs']:,}",
               f"{row['usual_mb']:.3f}")


def runs(figures: _Figures) -> Iterator[Row]:
    """Results of the manager for each trace."""
    yield ("trace", "policy", "processes", "group", "static", "most", "MB", "handshakes", "at once", "proxied",
           "waited a process, ms", "critical, ms", "s")
    for row in _of(figures, "run"):
        group = f"{row['group_size']:,}" + " (best)" * (row["choice"] == "best")
        policy = row["policy"] if row["scheme"] == "group-xrc" else f"{row['policy']}, {row['scheme']}"
        yield (f"`{row['trace']}`", policy, f"{row['processes']:,}", group, f"{row['static_queue_pairs']:,}",
               f"{row['queue_pairs']:,}", f"{row['process_mb']:.3f}", f"{row['handshakes']:,}",
               f"{row['live_peak']:,}", f"{row['proxied']:,}", f"{row['waited_max_ms']:,.3f}",
               f"{row['critical_ms']:,.3f}", f"{row['seconds']:.2f}")


def nic(figures: _Figures) -> Iterator[Row]:
    """The same messages on this NIC: each trace once."""
    yield ("trace", "processes", "VPs a node", "windows a node", "DQ, B", "CQ, B", "RQ, B", "kB a process",
           "connections, kB")
    seen = set()
    for row in _of(figures, "run"):
        key = row["trace"], row["processes"]
        if key in seen:
            continue
        seen.add(key)
        ports = row["nic"]
        capped = " (largest)" if ports["is_capped"] else ""
        yield (f"`{row['trace']}`", f"{row['processes']:,}", ports["vps"], ports["window_entries"],
               f"{ports['dq_bytes']:,}{capped}", f"{ports['cq_bytes']:,}", f"{ports['rq_bytes']:,}",
               f"{1000 * ports['process_mb']:,.2f}", f"{1000 * row['process_mb']:,.1f}")
