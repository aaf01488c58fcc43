"""Inputs that the rows of a grid depend on, flat, each under its name: a file of rows with another head is refused."""

from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

from sim.study.grid.tasks import source_hash


def fields_of(prefix: str, tree: Any) -> dict[str, Any]:
    """All fields of the sections of a configuration or a host, as ``prefix.section.field``."""
    return {
        f"{prefix}.{section}.{field}": value
        for section, fields in asdict(tree).items() for field, value in fields.items()
    }


def sources_of(*packages: str) -> dict[str, str]:
    """A hash of the files of some packages."""
    return {"sources": source_hash(*(Path(str(resources.files(name))) for name in packages))[:16]}
