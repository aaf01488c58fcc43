"""Report of a study, whichever it is: judges its rows, keeps them, shows them."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.report.drawing import Plot
from sim.study import StudyError, StudyResult
from sim.study.report.page import PageTable, text_tables, write_page
from sim.study.report.rows_file import command_of, judged, load_rows, save_rows

Row = dict[str, Any]


def check_parts(parts: Sequence[str], allowed: Collection[str]) -> None:
    """Raises :class:`StudyError` if one of `parts` is none that the study has."""
    for part in parts:
        if part not in allowed:
            raise StudyError(f"--part must be one of {', '.join(allowed)}, not {part!r}")


def rows_of(row_files: Sequence[Path], *studies: str) -> list[Row]:
    """Rows that were measured before, of one of `studies`. Raises :class:`StudyError` as :func:`load_rows`."""
    return [row for path in row_files for row in load_rows(path, *studies)]


@dataclass(frozen=True, kw_only=True)
class Report:
    """How a study shows its rows.

    Members
    -------
    study, title, about : str
        Its name on the command line; title and text of its page, which may depend on the rows.
    claims, tables, plots : callable
        What they say, from the rows.
    shows : callable, optional
        Rows that it is about; all of them if not given.
    """

    study: str
    title: str
    about: str | Callable[[list[Row]], str]
    claims: Callable[[list[Row]], list[Row]]
    tables: Callable[[list[Row]], Iterable[PageTable]]
    plots: Callable[[list[Row]], Iterable[Plot]]
    shows: Callable[[Row], bool] | None = None

    def write(
        self, rows: list[Row], *, is_quick: bool, parts: Sequence[str], row_files: Sequence[Path],
        save_to: Path | None, folder: Path, flags: str = "",
    ) -> StudyResult:
        """Writes ``index.html`` into `folder`, and the rows to `save_to`, with the command line that measures them
        again (`flags`: what else stands on it).

        Raises
        ------
        StudyError
            If rows from `row_files` are not what they must be.
        """
        with judged(row_files):
            shown = [row for row in rows if self.shows is None or self.shows(row)]
            found = self.claims(shown)
            if save_to is not None:
                command = command_of(self.study, is_quick=is_quick, parts=list(parts)) + flags
                save_rows(save_to, command, shown, found)
            tables = list(self.tables(shown))
            write_page(
                folder, title=self.title, about=self.about if isinstance(self.about, str) else self.about(shown),
                plots=list(self.plots(shown)), claims=found, tables=tables,
            )
            return StudyResult(shown, found, text_tables(tables))
