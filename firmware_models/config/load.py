"""Loads a configuration: layers of YAML on each other, the lowest a preset, with errors a person can act on."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from firmware_models.config.describe import FIELDS, SECTIONS
from firmware_models.config.tree import Config
from firmware_models.files import FileError, parse_sections, read_text, shown

DEFAULT = "small"
"""The preset that a file changes unless it names another base."""

BASE = "base"
"""The key by which a file names its base."""

_MOST_BYTES = 1 << 20
_MOST_BASES = 16
_adapter = TypeAdapter(Config)
_presets = files("firmware_models.config") / "presets"


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names field, value and what is allowed."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A configuration, and where it is from.

    Members
    -------
    config : Config
        The configuration.
    sources : mapping of str to str
        For every field (``cou.n_jobs``) what gave it its value: ``preset small``, or the name of a file.
    """

    config: Config
    sources: Mapping[str, str]


@dataclass(frozen=True)
class _Layer:
    source: str
    values: dict[str, Any]


def preset_names() -> list[str]:
    """Names of the presets, sorted."""
    return sorted(entry.name.removesuffix(".yaml") for entry in _presets.iterdir() if entry.name.endswith(".yaml"))


def load_preset(name: str) -> Config:
    """Loads preset `name`. Raises :class:`ConfigError` if there is none of that name."""
    return trace_preset(name).config


def load_config(path: Path) -> Config:
    """Loads a YAML file. Raises :class:`ConfigError` if it cannot be read or is not valid."""
    return trace_config(path).config


def parse_config(text: str, *, source: str) -> Config:
    """Parses YAML text; `source` names it in errors (:class:`ConfigError`)."""
    return _merged(_layers(text, source, Path())).config


@cache
def trace_preset(name: str) -> Loaded:
    """As :func:`load_preset`, with where every value is from."""
    return _merged(_preset_layers(name))


def trace_config(path: Path) -> Loaded:
    """As :func:`load_config`, with where every value is from."""
    return _merged(_file_layers(path, 0))


def _preset_layers(name: str) -> list[_Layer]:
    if name not in preset_names():
        raise ConfigError(f"preset must be one of {', '.join(preset_names())}, not {shown(name)}")
    values = _parsed((_presets / f"{name}.yaml").read_text(), f"preset {name}")
    below = [] if BASE not in values else _preset_layers(values.pop(BASE))
    return [*below, _Layer(f"preset {name}", values)]


def _file_layers(path: Path, depth: int) -> list[_Layer]:
    try:
        text = read_text(path, most_bytes=_MOST_BYTES)
    except FileError as error:
        raise ConfigError(f"config file {shown(path)} {error}") from None
    return _layers(text, str(path), path.parent, depth)


def _layers(text: str, source: str, folder: Path, depth: int = 0) -> list[_Layer]:
    """Layers of values: those of the text over those of its base, a preset or another file, its name relative to
    `folder`."""
    values = _parsed(text, source)
    base = values.pop(BASE, DEFAULT)
    if isinstance(base, str) and base.endswith((".yaml", ".yml")):
        if depth == _MOST_BASES:
            raise ConfigError(f"{source}: {BASE}: must lead to a preset within {_MOST_BASES} files, not in a circle")
        return [*_file_layers(folder / base, depth + 1), _Layer(source, values)]
    if base not in preset_names():
        allowed = f"one of {', '.join(preset_names())}, or a file that ends in .yaml"
        raise ConfigError(f"{source}: {BASE}: must be {allowed}, not {shown(base)}")
    return [*_preset_layers(base), _Layer(source, values)]


def _parsed(text: str, source: str) -> dict[str, Any]:
    try:
        return parse_sections(text, source=source)
    except FileError as error:
        raise ConfigError(str(error)) from None


def _merged(layers: list[_Layer]) -> Loaded:
    """The layers on each other, later ones above; the result is validated as a whole."""
    tree: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    sources: dict[str, str] = {}
    for layer in layers:
        for section, fields in layer.values.items():
            if section not in SECTIONS:
                _refuse_name(layer.source, section, fields, [BASE, *SECTIONS])
            if not isinstance(fields, dict | None):
                raise ConfigError(f"{layer.source}: {section}: must be a mapping of fields, not {shown(fields)}")
            for name, value in (fields or {}).items():
                path = f"{section}.{name}"
                if path not in FIELDS:
                    _refuse_name(layer.source, path, value, SECTIONS[section])
                tree[section][name] = value
                sources[path] = layer.source
    try:
        config = _adapter.validate_json(json.dumps(tree))  # strict types, mappings allowed
    except ValidationError as error:
        found = {_path(e): e["msg"] for e in error.errors()}  # one a field, though a list may have several
        raise ConfigError("; ".join(
            f"{sources[path]}: {path}: must be {FIELDS[path].allowed}, not {shown(_value(tree, path))}"
            if path in FIELDS else
            f"{layers[-1].source}: {path or 'configuration'}: {message.removeprefix('Value error, ')}"
            for path, message in found.items()
        )) from None
    return Loaded(config=config, sources={path: sources[path] for path in FIELDS})


def _refuse_name(source: str, path: str, value: object, allowed: list[str]) -> None:
    raise ConfigError(f"{source}: {path}: no such field (got {shown(value)}); allowed: {', '.join(allowed)}")


def _path(error: Any) -> str:
    return ".".join(str(part) for part in error["loc"][:2])


def _value(tree: Mapping[str, Mapping[str, Any]], path: str) -> object:
    section, name = path.split(".")
    return tree[section][name]
