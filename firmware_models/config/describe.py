"""Meaning and allowed values of every field of the configuration, read off the tree."""

from dataclasses import dataclass, fields
from inspect import getdoc
from typing import Any, Literal, get_args, get_origin, get_type_hints

from firmware_models.config.tree import POWER_OF_TWO, Config


@dataclass(frozen=True)
class FieldDescription:
    """Meaning of a field, and the values that it may have, in words."""

    meaning: str
    allowed: str


def derived(config: Config) -> dict[str, tuple[int, str]]:
    """Numbers that follow from the fields: name, value and meaning."""
    found: dict[str, tuple[int, str]] = {}
    for prefix, part in [*((f"{name}.", getattr(config, name)) for name in SECTIONS), ("", config)]:
        for name, member in vars(type(part)).items():
            if isinstance(member, property) and isinstance(value := getattr(part, name), int):
                found[f"{prefix}{name}"] = (value, _first_paragraph(member))
    return found


def _first_paragraph(documented: object) -> str:
    return " ".join((getdoc(documented) or "").split("\n\n")[0].split())


def _allowed(field: Any) -> str:
    """The values of a field in words."""
    kind = field.annotation
    if kind is bool:
        return "true or false"
    if get_origin(kind) is Literal:
        values = [str(value) for value in get_args(kind)]
        return values[0] if len(values) == 1 else f"one of {', '.join(values)}"
    if get_origin(kind) is tuple:
        return f"a list of some of {', '.join(get_args(get_args(kind)[0]))}"
    low = next(bound.ge for bound in field.metadata if hasattr(bound, "ge"))
    high = next(bound.le for bound in field.metadata if hasattr(bound, "le"))
    return f"{low} to {high}{', a power of two' if POWER_OF_TWO in field.metadata else ''}"


_types = get_type_hints(Config)

SECTIONS: dict[str, list[str]] = {
    section.name: [field.name for field in fields(_types[section.name])] for section in fields(Config)
}
"""The fields of each section, in their order."""

FIELDS: dict[str, FieldDescription] = {
    f"{section}.{name}": FieldDescription(" ".join(str(field.description).split()), _allowed(field))
    for section in SECTIONS for name, field in _types[section].__pydantic_fields__.items()
}
"""All fields by their paths, ``cou.n_jobs``."""
