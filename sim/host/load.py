"""Loads hosts: presets, and YAML files that say what is different, with errors a person can act on."""

import json
from dataclasses import fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from firmware_models.files import FileError, parse_sections, read_text, shown
from sim.host.model import Host

DEFAULT = "paper"
"""The preset that a file changes unless it names another base."""
_BASE = "base"
_MOST_BYTES = 1 << 20
_presets = files("sim.host") / "presets"
_adapter = TypeAdapter(Host)
_types = get_type_hints(Host)
SECTIONS: dict[str, list[str]] = {
    section.name: [field.name for field in fields(_types[section.name])] for section in fields(Host)
}
"""The fields of each section."""


class HostError(ValueError):
    """A host that cannot be used; the message names field, value and what is allowed."""


def host_names() -> list[str]:
    """Names of the presets, sorted."""
    return sorted(entry.name.removesuffix(".yaml") for entry in _presets.iterdir() if entry.name.endswith(".yaml"))


@cache
def load_host(name: str) -> Host:
    """The preset `name`. Raises :class:`HostError` if there is none of that name."""
    return _checked(_preset(name, "host"), f"host {name}")


def load_host_file(path: Path) -> Host:
    """A host from a YAML file. Raises :class:`HostError` if it cannot be read or is not valid."""
    try:
        text = read_text(path, most_bytes=_MOST_BYTES)
    except FileError as error:
        raise HostError(f"host file {shown(path)} {error}") from None
    return parse_host(text, source=str(path))


def parse_host(text: str, *, source: str) -> Host:
    """A host from YAML text, which says what differs from its `base`; `source` names it in errors."""
    values = _parsed(text, source)
    base = values.pop(_BASE, DEFAULT)
    tree = _preset(base, f"{source}: {_BASE}:")
    for section, entries in values.items():
        if section not in SECTIONS:
            raise HostError(
                f"{source}: {section}: no such section (got {shown(entries)}); allowed: {', '.join([_BASE, *SECTIONS])}"
            )
        if not isinstance(entries, dict | None):
            raise HostError(f"{source}: {section}: must be a mapping of fields, not {shown(entries)}")
        for name, value in (entries or {}).items():
            if name not in SECTIONS[section]:
                raise HostError(
                    f"{source}: {section}.{name}: no such field (got {shown(value)}); "
                    f"allowed: {', '.join(SECTIONS[section])}"
                )
            tree[section][name] = value
    return _checked(tree, source)


def _preset(name: object, what: str) -> dict[str, dict[str, Any]]:
    if name not in host_names():
        raise HostError(f"{what} must be one of {', '.join(host_names())}, not {shown(name)}")
    values: dict[str, dict[str, Any]] = _parsed((_presets / f"{name}.yaml").read_text(), f"host {name}")
    return values


def _parsed(text: str, source: str) -> dict[str, Any]:
    try:
        return parse_sections(text, source=source)
    except FileError as error:
        raise HostError(str(error)) from None


def _checked(tree: dict[str, dict[str, Any]], source: str) -> Host:
    try:
        return _adapter.validate_json(json.dumps(tree))
    except ValidationError as error:
        first = error.errors()[0]
        section, name = (str(part) for part in (*first["loc"], "", "")[:2])
        raise HostError(
            f"{source}: {section}.{name}: must be {_allowed(section, name)}, not {shown(tree[section].get(name))}"
        ) from None


def _allowed(section: str, name: str) -> str:
    """The values of a field in words."""
    field = _types[section].__pydantic_fields__[name]
    low = next(bound.ge for bound in field.metadata if hasattr(bound, "ge"))
    high = next(bound.le for bound in field.metadata if hasattr(bound, "le"))
    return f"{'a whole number, ' if field.annotation is int else ''}{low:g} to {high:g}"
