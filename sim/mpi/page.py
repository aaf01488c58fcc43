"""The report of a program as one page that needs nothing else."""

from collections.abc import Mapping
from typing import Any

import jinja2

from sim.mpi.timeline import bars

_WIDTH = 1000.0


def program_page(values: Mapping[str, Any]) -> str:
    """The page as HTML, from what ``conic mpiexec --json`` prints."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sim.mpi", "."), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(**values, picture=bars(values["timeline"], width=_WIDTH))
