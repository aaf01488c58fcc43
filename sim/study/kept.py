"""Pages of studies whose rows are kept: they are drawn again, nothing is measured."""

import importlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sim.study import STUDIES, GridOptions


def kept_page(rows: Path) -> str:
    """The page of the study after which `rows`, a file that ``--save-rows`` wrote, is called."""
    study = STUDIES[rows.stem]
    of_a_grid = {"options": GridOptions(preset=study.preset, nodes=study.nodes)} if study.is_grid else {}
    run: Any = importlib.import_module(study.module).run
    with TemporaryDirectory() as folder:
        run(is_quick=False, parts=(), row_files=(rows,), save_rows=None, folder=Path(folder),
            progress=lambda _stage, _done, _total: None, **of_a_grid)
        return (Path(folder) / "index.html").read_text(encoding="utf-8")
