"""`conic run`: one collective on the RTL of a whole cluster, every bit compared with the golden model."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from firmware_models.config import ConfigError
from firmware_models.files import write_text, written
from firmware_models.schedule import ScheduleError
from sim.board.frame_link import BoardError
from sim.board.open import MODEL, NoBoardError
from sim.board.run import run_on_board
from sim.cli.shared.board import board_options, request_on_board
from sim.cli.shared.collective_options import CollectiveFlags, collective_options
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.faults import faults_option, run_under_faults
from sim.cli.shared.idle import refuse_idle
from sim.cli.shared.paths import OUTPUT_FILE
from sim.cli.shared.refusal import fails, refuses
from sim.cli.shared.unit_table import print_units
from sim.cli.shared.waves import refuse_what_never_came, waves_of, waves_options, written_whole
from sim.cluster import Waves
from sim.collective import CollectiveError, CollectiveRequest, CollectiveResult, RequestError, run_collective
from sim.faults import FaultScript, FaultScriptError
from sim.host import HostError
from sim.report.chrome_trace import write_chrome_trace
from sim.report.timeline_page import timeline_page


@click.command("run", epilog=example("conic run allreduce --algorithm recursive-doubling --nodes 4 --size 4KiB --json"))
@collective_options
@click.option("--output", "output_file", type=OUTPUT_FILE,
              help="y.npy: the results, one row per node; rows without a result are zero.")
@waves_options
@click.option("--trace", type=OUTPUT_FILE,
              help="t.json: what every node did, for chrome://tracing and Perfetto.")
@click.option("--timeline", type=OUTPUT_FILE, help="t.html: the same as a page to look at, with zoom.")
@faults_option
@board_options
@refuses(RequestError, ScheduleError, ConfigError, HostError, NoBoardError, FaultScriptError)
@fails(CollectiveError, BoardError)
def command(
    *, flags: CollectiveFlags, output_file: Path | None, waves: Path | None, waves_from: int | None,
    waves_for: int | None, trace: Path | None, timeline: Path | None, faults: FaultScript | None, as_json: bool,
    board: str | None, baud: int,
) -> int:
    """Runs COLLECTIVE (broadcast, allreduce, barrier, …) on RTL or a board and checks every bit of the result."""
    if board is None or board.startswith(MODEL):
        refuse_idle(("baud",), "without the serial port of a --board")
    if flags.collective == "barrier":
        refuse_idle(("output_file",), "for barrier, which has no results")
    if flags.input_file is not None and faults is None:
        refuse_idle(("seed",), "with --input, whose data are there")
    files = _Files(array=output_file, waves=waves_of(waves, waves_from, waves_for), trace=trace, timeline=timeline)
    if faults is not None:
        if board is not None or files.array is not None or files.has_events:
            raise click.UsageError("--faults: has neither --board nor --output, --waves, --trace, --timeline")
        return run_under_faults(flags.request(), faults, as_json=as_json)
    if board is not None:
        if files.has_events:
            raise click.UsageError("--board: has neither --waves nor --trace, --timeline")
        return _on_board(flags, board, baud=baud, array=files.array, as_json=as_json)
    return _on_cluster(flags.request(), files, as_json=as_json)


@dataclass(frozen=True, kw_only=True)
class _Files:
    """Files that a run writes: results, and what a simulation sees of events."""

    array: Path | None
    waves: Waves | None
    trace: Path | None
    timeline: Path | None

    @property
    def has_events(self) -> bool:
        """True if one of them shows events."""
        return any(each is not None for each in (self.waves, self.trace, self.timeline))


def _on_cluster(request: CollectiveRequest, files: _Files, *, as_json: bool) -> int:
    with progress_bars() as progress, written_whole(files.waves, keep=CollectiveError) as part:
        result = run_collective(
            request, waves=part, progress=progress,
            keeps_events=files.trace is not None or files.timeline is not None,
        )
    if files.array is not None:
        _save(files.array, result.outputs)
    if files.trace is not None:
        write_chrome_trace(files.trace, result.events)
    if files.timeline is not None:
        write_text(files.timeline, timeline_page(result.events, title=_title(request)))
    units = {"buffer_occupancy": result.buffer_occupancy, "stalls": result.stalls}
    answer(_report(request, result) | (units if as_json else {}), as_json=as_json)
    if not as_json:
        print_units(result.buffer_occupancy, result.stalls, cycles=result.cycles)
    refuse_what_never_came(files.waves, last_cycle=result.last_cycle)
    return 1 if result.mismatched_bits else 0


def _report(request: CollectiveRequest, result: CollectiveResult) -> dict[str, Any]:
    report: dict[str, Any] = {
        "collective": request.collective, "algorithm": request.algorithm, "nodes": request.nodes,
        "jobs": request.jobs, "bytes": result.bytes, "dtype": request.dtype, "op": request.op,
        "topology": request.topology, "preset": request.preset, "seed": request.seed, "cycles": result.cycles,
        "first_cycle": result.first_cycle,
        "goodput_fraction": result.goodput_fraction, "bound_fraction": result.bound_fraction,
        "framing_fraction": result.framing_fraction, "wire_fraction": result.wire_fraction,
        "mismatched_bits": result.mismatched_bits, "sha256": result.sha256,
    }
    if request.host is not None:
        report |= {
            "host": request.host_name, "host_based": request.host_based,
            "microseconds": request.host.microseconds(result.cycles),
        }
    return report


def _title(request: CollectiveRequest) -> str:
    by = "by hosts, " if request.host_based else ""
    return f"{request.collective}, {request.algorithm}, {by}{request.nodes} nodes, {request.size:,} bytes"


def _save(path: Path, outputs: NDArray[Any]) -> None:
    with written(path, "wb") as file:
        np.save(file, outputs, allow_pickle=False)


def _on_board(flags: CollectiveFlags, name: str, *, baud: int, array: Path | None, as_json: bool) -> int:
    with progress_bars() as progress:
        progress("on the board", 0, 1)
        with request_on_board(flags, name, baud=baud) as (request, board):
            result = run_on_board(request, board)
        progress("on the board", 1, 1)
    if array is not None:
        _save(array, result.outputs)
    answer({
        "collective": request.collective, "algorithm": request.algorithm, "nodes": request.nodes,
        "jobs": request.jobs, "bytes": request.size, "dtype": request.dtype, "op": request.op, "board": name,
        "preset": request.preset, "seed": request.seed, "cycles": result.cycles, "seconds": result.seconds,
        "repeated_frames": result.repeated, "mismatched_bits": result.mismatched_bits, "sha256": result.sha256,
    }, as_json=as_json)
    return 1 if result.mismatched_bits else 0
