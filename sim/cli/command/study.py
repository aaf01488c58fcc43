"""`conic study`: the experiments of the papers, run again: table, plots, one page, claims."""

import importlib
from pathlib import Path
from typing import Any

import click

from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.grid_options import HOW_IT_IS_MEASURED, grid_options, options_of
from sim.cli.shared.idle import refuse_idle
from sim.cli.shared.paths import OUTPUT_FILE, OUTPUT_FOLDER
from sim.cli.shared.refusal import refuses
from sim.cli.shared.run_file import run_file_option
from sim.report.words import words
from sim.study import STUDIES, StudyError

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("study", epilog=example("conic study mft --quick --json"))
@click.argument("name", required=False)
@click.option("--quick", "is_quick", is_flag=True, help="Small networks, or few points: minutes instead of hours.")
@click.option("--part", "parts", multiple=True, help="Only this part (of mft: a network); may be repeated.")
@click.option("--rows", "row_files", type=FILE, multiple=True, help="Take rows measured before; may be repeated.")
@click.option("--save-rows", type=OUTPUT_FILE, help="Write the rows as JSON, with the command that measured them.")
@click.option("--output-dir", type=OUTPUT_FOLDER, help="[default: build/study/NAME]")
@grid_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@run_file_option
@refuses(StudyError)
def command(
    *, name: str | None, is_quick: bool, parts: tuple[str, ...], row_files: tuple[Path, ...], save_rows: Path | None,
    output_dir: Path | None, as_json: bool, **grid: Any,
) -> int:
    """Runs the study NAME; lists the studies without one. Exit code 1 if a claim does not hold."""
    if name is None:
        given = (parameter.name for parameter in click.get_current_context().command.params)
        refuse_idle(tuple(one for one in given if one not in (None, "name", "as_json", "run_file")), "without NAME")
        answer({key: study.about for key, study in STUDIES.items()}, as_json=as_json)
        return 0
    if name not in STUDIES:
        raise StudyError(f"NAME must be one of {', '.join(STUDIES)}, not {name!r}")
    more = options_of(name, **grid)
    if not STUDIES[name].is_grid:
        refuse_idle(("engine",), f"for {name}, which simulates no cluster")
    if row_files:
        refuse_idle((*HOW_IT_IS_MEASURED, "engine"), "with --rows, which are measured already")
    run: Any = importlib.import_module(STUDIES[name].module).run
    folder = output_dir or Path("build") / "study" / name
    with progress_bars() as progress:
        result = run(is_quick=is_quick, parts=parts, row_files=row_files, save_rows=save_rows, folder=folder,
                     progress=progress, **more)
    if as_json:
        answer({"study": name, "results": result.rows, "claims": result.claims, "page": str(folder / "index.html")},
               as_json=True)
    else:
        click.echo(result.table)
        for claim in result.claims:
            verdict = "holds" if claim["holds"] else "FAILS"
            click.echo(f"{verdict}  {claim['claim']}")
            click.echo(f"       measured {words(claim['measured'])}  |  expected {words(claim['expected'])}")
        click.echo(f"page: {folder / 'index.html'}")
    return 0 if all(claim["holds"] for claim in result.claims) else 1
