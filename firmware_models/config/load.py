"""Loads a configuration from a preset or a YAML file, with errors a person can act on."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from .tree import Config

_adapter = TypeAdapter(Config)
_presets = files("firmware_models.config") / "presets"


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names field, value and what is allowed."""


def preset_names() -> list[str]:
    """Names of the presets, sorted."""
    return sorted(entry.name.removesuffix(".yaml") for entry in _presets.iterdir() if entry.name.endswith(".yaml"))


def load_preset(name: str) -> Config:
    """Loads preset `name`. Raises :class:`ConfigError` if there is none of that name."""
    if name not in preset_names():
        raise ConfigError(f"preset must be one of {', '.join(preset_names())}, not {name!r}")
    return parse_config((_presets / f"{name}.yaml").read_text(), source=f"preset {name}")


def load_config(path: Path) -> Config:
    """Loads a YAML file. Raises :class:`ConfigError` if it cannot be read or is not valid."""
    try:
        text = path.read_text()
    except OSError as error:
        raise ConfigError(f"config file {str(path)!r} cannot be read: {error.strerror}") from None
    return parse_config(text, source=str(path))


def parse_config(text: str, *, source: str) -> Config:
    """Parses YAML text; `source` names it in errors (:class:`ConfigError`)."""
    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: not YAML: {' '.join(str(error).split())}") from None
    tree = {} if tree is None else tree
    if not isinstance(tree, dict):
        raise ConfigError(f"{source}: must be a mapping of sections, not {tree!r}")
    try:
        return _adapter.validate_json(json.dumps(tree))  # strict types, mappings allowed
    except ValidationError as error:
        raise ConfigError(f"{source}: " + "; ".join(_explain(e) for e in error.errors())) from None


def _explain(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"]) or "configuration"
    if error["type"] == "unexpected_keyword_argument":
        return f"{place}: no such field (got {error['input']!r}); allowed: {', '.join(_siblings(error['loc']))}"
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "value_error":
        return f"{place}: {message}"
    return f"{place}: {message[0].lower()}{message[1:]}, not {error['input']!r}"


def _siblings(location: tuple[str | int, ...]) -> list[str]:
    """Field names beside the one at `location`."""
    node: Any = Config()
    for part in location[:-1]:
        node = getattr(node, str(part))
    return list(node.__dataclass_fields__)
