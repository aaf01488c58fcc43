"""The study of pulses: their size and the packets in flight, against time and the occupancy of packet buffers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from firmware_models.config import Config, ConfigError, load_preset
from firmware_models.schedule import build, largest_pulse
from sim.cluster import build_library
from sim.host import HostError
from sim.operation.request import RequestError
from sim.process.run import memory_needed
from sim.report.colours import FURTHER
from sim.report.drawing import Plot, log_axis, panel, svg
from sim.report.progress import ProgressCallback
from sim.report.words import number, span
from sim.study import GridOptions, StudyError, StudyResult
from sim.study.grid import Grid, Point, run_as_asked
from sim.study.nic.grid import START_CYCLES, hardware_and_host, host_of
from sim.study.nic.measure import Setting, measure_with
from sim.study.nic.points import KIB
from sim.study.nic.tables import size_words
from sim.study.pulses.claims import AS_IT_IS, ONE_PACKET, claims, fullest, lines
from sim.study.report import Report, check_parts, rows_of
from sim.study.report.page import PageTable

Row = dict[str, Any]
Sections = Mapping[str, Mapping[str, Any]]
VARIANTS: dict[str, Sections] = {
    AS_IT_IS: {},
    ONE_PACKET: {"cou": {"peer_credits": 1, "lending": False}},
    "2 packets a peer": {"cou": {"peer_credits": 2, "lending": False}},
    "3 packets a peer": {"cou": {"peer_credits": 3, "lending": False}},
    "4 pulses at once": {"cou": {"n_contexts": 4}},
    "mtu 512": {"datapath": {"mtu": 512}},
    "mtu 1024": {"datapath": {"mtu": 1024}},
}
"""Packets that a peer may have outstanding, without shared credits; pulses at once, of which each of the preset's four
jobs may have one at any time, so that one job gets one; the largest packet."""
_QUICK = (AS_IT_IS, ONE_PACKET, "mtu 512")
_ALGORITHMS = ("recursive-doubling", "rabenseifner")
_PULSES = (16, 32, 64, 128, 256, 512, 1024, 2048)
_SIZES = {False: (4 * KIB, 32 * KIB, 256 * KIB), True: (32 * KIB,)}
_CYCLES_A_SECOND = 35_000
_ROOM_BYTES = 1 << 20
_ABOUT = (
    "Allreduce of one job, offloaded, hosts included. A message is cut into pulses, which are in progress side by "
    "side; each takes so many bytes of every block (one by recursive doubling, one a node by Rabenseifner's "
    "algorithm), in packets of at most the mtu, each sent against a credit of its receiver. <em>Packets a peer</em>: "
    "guaranteed credits, nothing lent; as it is, three and what is lent. <em>4 pulses at once</em>: one for each of "
    "four jobs, so that this one's go one after the other. Small pulses cost headers and passes; large "
    "ones overlap less, and one packet a peer waits for the credit of the one before. Occupancy is that of the root's "
    "fullest buffer: mean over the operation, as a share of what is usable, and the most packets at once."
)


def run(
    *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path], save_rows: Path | None, folder: Path,
    progress: ProgressCallback, options: GridOptions,
) -> StudyResult:
    """Measures, or takes the rows of `row_files`, and writes ``index.html`` into `folder`."""
    check_parts(parts, VARIANTS)
    rows = rows_of(row_files, "pulses") if row_files else _measure(
        is_quick, parts or (_QUICK if is_quick else tuple(VARIANTS)), folder, progress, options,
    )
    return _REPORT.write(
        rows, is_quick=is_quick, parts=parts, row_files=row_files, save_to=save_rows, folder=folder,
    )


def _measure(
    is_quick: bool, parts: Sequence[str], folder: Path, progress: ProgressCallback, options: GridOptions,
) -> list[Row]:
    try:
        config, host = load_preset(options.preset), host_of(options)
        settings = {
            (part, algorithm): Setting(
                collective="allreduce", algorithm=algorithm, preset=options.preset, topology=f"star:{options.nodes}",
                nodes=options.nodes, seed=0, host=host, memory_bytes=0, other=_changed(config, part),
            )
            for part in parts for algorithm in _ALGORITHMS
        }
        most = [setting.request(jobs=1, size=max(_SIZES[False]), way="offloaded") for setting in settings.values()]
    except (ConfigError, HostError, RequestError) as error:
        raise StudyError(str(error)) from None
    memory = max(map(memory_needed, most)) + _ROOM_BYTES
    points = [
        point for (part, _), setting in settings.items()
        for point in _points(part, replace(setting, memory_bytes=memory), is_quick)
    ]
    head = {"study": "pulses", "preset": options.preset, "nodes": options.nodes}
    grid = Grid(head=head | hardware_and_host(config, host), points=points, measure=measure,
                work_a_second=_CYCLES_A_SECOND, start_work=START_CYCLES * options.nodes * len(parts))
    hardware = list(dict.fromkeys(request.hardware() for request in most))
    return run_as_asked(grid, folder, options, progress=progress,
                        prepare=lambda: [build_library(each, progress=progress) for each in hardware])


def _changed(config: Config, part: str) -> Config:
    try:
        return config.changed(**VARIANTS[part])
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise StudyError(f"--part: {part} must fit the preset: {reason}") from None


def _points(part: str, setting: Setting, is_quick: bool) -> Iterator[Point]:
    assert setting.other is not None
    schedule = build(setting.collective, setting.algorithm, n_nodes=setting.nodes)
    largest = largest_pulse(schedule, setting.other)
    step = 64 if schedule.block_count == 1 else 16
    for size in _SIZES[is_quick]:
        for pulse in (pulse for pulse in _PULSES if step <= pulse <= largest):
            key = (("kind", "pulse"), ("hardware", part), ("algorithm", setting.algorithm), ("bytes", size),
                   ("pulse_bytes", pulse))
            n_pulses = size / pulse / schedule.block_count
            work = setting.nodes * (3000 + 2 * size / setting.other.datapath.flit_bytes + 60 * n_pulses)
            yield Point(key, (setting, size, pulse), work)


def measure(setting: Setting, size: int, pulse: int) -> Row:
    """One operation with pulses of a size."""
    assert setting.other is not None
    row = measure_with(setting, 1, size, "offloaded", setting.host, pulse)
    packets = max(row["peak"]) * setting.other.buffer_packets
    return row | {"mtu": setting.other.datapath.mtu, "peer_credits": setting.other.cou.peer_credits,
                  "lending": setting.other.cou.lending, "most_packets": round(packets)}


def _table(rows: Sequence[Row]) -> PageTable:
    return PageTable("Time and occupancy", 3, [
        ("algorithm", "hardware", "message", "pulse, bytes", "µs", "occupancy, %", "most packets"),
        *((row["algorithm"], row["hardware"], size_words(row["bytes"]), str(row["pulse_bytes"]),
           number(row["microseconds"]), number(100 * fullest(row)), str(row["most_packets"])) for row in rows),
    ])


def _plots(rows: Sequence[Row]) -> Iterator[Plot]:
    for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
        size = max(row["bytes"] for row in rows if row["algorithm"] == algorithm)
        mine = [row for row in rows if (row["algorithm"], row["bytes"]) == (algorithm, size)]
        figure, panels = panel(2, height=3.6, columns=2)
        for (hardware, line), colour in zip(lines(mine).items(), FURTHER, strict=False):
            pulses = [row["pulse_bytes"] for row in line]
            for axes, values in zip(panels, ([row["microseconds"] for row in line],
                                             [100 * fullest(row) for row in line]), strict=True):
                axes.plot(pulses, values, marker="o", markersize=3, color=colour, label=hardware)
        for axes, label in zip(panels, ("µs", "% of the fullest buffer, mean"), strict=True):
            log_axis(axes, "x", [row["pulse_bytes"] for row in mine])
            axes.set(xlabel="bytes of a pulse, of each block", ylabel=label, ylim=(0, None))
        panels[0].legend(fontsize=8, frameon=False)
        times, shares = ([row["microseconds"] for row in mine], [100 * fullest(row) for row in mine])
        yield Plot(f"{algorithm}, {size_words(size)}: {span(times)} µs, the fullest buffer {span(shares)}% full",
                   "By size of a pulse", svg(figure))

_REPORT = Report(
    study="pulses", title="Pulses and packets in flight", about=_ABOUT,
    claims=claims, tables=lambda rows: [_table(rows)], plots=_plots,
)
