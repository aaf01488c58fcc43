"""Rows that other sources have measured, taken over: a drawn sample of them is measured again, and all of it is equal.

A grid of the paper's hardware takes a day of a core, and any change of the sources refuses its rows, also one that an
operation never meets. ``python -m sim.study.adopted nic-reduce OLD.jsonl NEW.jsonl --way offloaded --minutes 20``
measures some again; a row that is taken over says by which sources it was measured.
"""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from firmware_models.files import FileError, read_text, shown
from sim.study import GridOptions, StudyError
from sim.study.grid import Grid, Key, Point, found_rows
from sim.study.grid.kept_rows import RowsFile, lines_of
from sim.study.nic.grid import nic_grid
from sim.study.nic.points import EXPERIMENTS, WAYS

Row = dict[str, Any]
ADOPTED = "measured_by"
"""Field of a row that was taken over: the sources that have measured it."""
_SOURCES = "sources"
_EFFORT = ("seconds", "evaluated", ADOPTED)
"""Fields that tell the effort of a measurement, which is no result."""


@dataclass(frozen=True)
class Adoption:
    """How many rows were measured again, and how many were taken over besides."""

    measured: int
    adopted: int


def adopt(
    grid: Grid, old: Path, new: Path, *, seconds: float, seed: int, measure: Callable[[Grid], list[Row]]
) -> Adoption:
    """Takes rows of `grid` from `old` over to `new`, if those of a sample are measured again and are the same.

    Parameters
    ----------
    seconds : float
        The sample is drawn as long as its rows have taken less than that; at least one.
    seed : int
        Of the draw.
    measure : callable
        Measures a grid, and keeps its rows in `new`.

    Raises
    ------
    StudyError
        If `old` differs in anything but its sources, and parameters that they did not have; has no row that `new`
        lacks; or if a row is not the same: then none is taken over.
    """
    head, rows = _load(old)
    wanted = json.loads(json.dumps(dict(grid.head)))  # as a file has it
    for name in head:
        if name != _SOURCES and head[name] != wanted.get(name):
            raise StudyError(
                f"OLD: {shown(old)} has rows for {name} {shown(head.get(name))}, not {shown(wanted.get(name))}"
            )
    before, after = found_rows(grid.points, rows), found_rows(grid.points, RowsFile(new, grid.head).rows)
    there = [point for point in grid.points if point.key in before and point.key not in after]
    if not there:
        raise StudyError(f"OLD: {shown(old)} must have a row of the grid that {shown(new)} has not")
    sample = _drawn(there, before, seconds, random.Random(seed))
    for point, again in zip(sample, measure(replace(grid, points=sample)), strict=True):
        _compare(point, before[point.key], again)
    file = RowsFile(new, grid.head)
    others = [point for point in there if point not in sample]
    for point in others:
        file.add({ADOPTED: head.get(_SOURCES)} | before[point.key])
    return Adoption(len(sample), len(others))


def _load(path: Path) -> tuple[Row, list[Row]]:
    try:
        lines = lines_of(read_text(path))
    except FileError as error:
        raise StudyError(f"OLD: {shown(path)} {error}") from None
    if not lines or not all(isinstance(line, dict) for line in lines):
        raise StudyError(f"OLD: {shown(path)} must hold rows that a study has written, a JSON object a line")
    return lines[0], lines[1:]


def _drawn(points: list[Point], rows: Mapping[Key, Row], seconds: float, numbers: random.Random) -> list[Point]:
    """Points in drawn order, as long as there is time for them; at least the one that takes the least."""
    took = {point.key: float(rows[point.key]["seconds"]) for point in points}
    sample: list[Point] = []
    for point in numbers.sample(points, len(points)):
        if took[point.key] <= seconds:
            sample.append(point)
            seconds -= took[point.key]
    return sample or [min(points, key=lambda point: took[point.key])]


def _compare(point: Point, before: Mapping[str, Any], again: Mapping[str, Any]) -> None:
    for name in dict.fromkeys([*before, *again]):
        if name not in _EFFORT and before.get(name) != again.get(name):
            key = ", ".join(f"{field} {value}" for field, value in point.key)
            raise StudyError(
                f"OLD: rows cannot be taken over: {name} of {key} is {shown(again.get(name))} now, not "
                f"{shown(before.get(name))}"
            )


@click.command()
@click.argument("name", type=click.Choice(sorted(EXPERIMENTS)))
@click.argument("old", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.argument("new", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--way", type=click.Choice(WAYS), required=True, help="How the operations are carried out.")
@click.option("--minutes", type=click.FloatRange(0), default=20, show_default=True, help="What the sample has taken.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True)
def main(*, name: str, old: Path, new: Path, way: str, minutes: float, seed: int, processes: int) -> None:
    """Takes rows of study NAME from OLD over to NEW, once a sample has been measured again."""
    options = GridOptions(processes=processes, results=new)
    of = nic_grid(EXPERIMENTS[name], is_quick=False, parts=(), options=options)
    points = [point for point in of.grid.points if dict(point.key).get("way") == way]

    def progress(stage: str, done: int, total: int) -> None:
        click.echo(f"{stage} {done} of {total}", err=True)

    def measure(grid: Grid) -> list[Row]:
        return replace(of, grid=grid).rows(new.parent, options, progress)

    try:
        found = adopt(replace(of.grid, points=points), old, new, seconds=60 * minutes, seed=seed, measure=measure)
    except StudyError as error:
        raise click.UsageError(str(error)) from None
    click.echo(f"seed {seed}: {found.measured} rows measured again, all the same; {found.adopted} taken over")


if __name__ == "__main__":
    main()
