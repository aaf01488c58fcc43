"""`--waves`, `--waves-from` and `--waves-for`: a waveform of a run, or of some cycles of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from firmware_models.files import aside
from sim.cli.shared.number import Number
from sim.cli.shared.paths import OUTPUT_FILE
from sim.cluster import Waves

Command = TypeVar("Command", bound=Callable[..., Any])
_MOST_CYCLES = 10 ** 15


def waves_options(command: Command) -> Command:
    """Gives `command` the three flags."""
    for option in (
        click.option("--waves-for", type=Number(1, _MOST_CYCLES), metavar="CYCLES",
                     help="Only so many cycles of the waveform.  [default: to the end]"),
        click.option("--waves-from", type=Number(0, _MOST_CYCLES), metavar="CYCLE",
                     help="Where the waveform begins, in cycles since reset, as in --trace and errors.  [default: 0]"),
        click.option("--waves", type=OUTPUT_FILE, help="f.fst: waveform of the whole cluster."),
    ):
        command = option(command)
    return command


def waves_of(waves: Path | None, waves_from: int | None, waves_for: int | None) -> Waves | None:
    """The waveform that the flags ask for; refuses a window of none."""
    if waves is not None:
        return Waves(path=waves, first=waves_from or 0, cycles=waves_for)
    for name, given in (("--waves-from", waves_from), ("--waves-for", waves_for)):
        if given is not None:
            raise click.UsageError(f"{name}: needs --waves, the file to write, not {given} alone")
    return None


@contextmanager
def written_whole(waves: Waves | None, *, keep: type[Exception]) -> Iterator[Waves | None]:
    """Redirects a waveform to a file beside its destination; it is moved there when it is complete, after a failure of
    type `keep` too."""
    if waves is None:
        yield None
        return
    with aside(waves.path, keep=(keep,)) as part:
        yield replace(waves, path=part)


def refuse_what_never_came(waves: Waves | None, *, last_cycle: int) -> None:
    """Refuses a waveform that begins after the last cycle of the run, which says so when it is over."""
    if waves is not None and waves.first >= last_cycle:
        raise click.UsageError(
            f"--waves-from: must be below {last_cycle}, the cycles of this run since reset, not {waves.first}: "
            f"no waveform was written"
        )
