"""YAML of people: scalars, lists and mappings, within bounds.

What YAML has beyond that is refused rather than guessed: aliases (ten lines of them make a document that no memory
holds), keys that are no text or stand twice, dates, numbers in base 60 and with leading zeros.
"""

import re
from typing import Any

import yaml

from firmware_models.files.reading import MOST_DIGITS, FileError, shown

MOST_DEPTH = 32
"""Levels of lists and mappings in each other."""


class _BoundedLoader(yaml.SafeLoader):
    """The safe loader without the parts that make a short text long or a value surprising."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012
    yaml_constructors = {  # noqa: RUF012
        tag: make for tag, make in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in ("null", "bool", "float", "str", "seq", "map")
    }
    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(None, None, f"alias *{event.anchor} is not taken", event.start_mark)
        self.depth += 1
        if self.depth > MOST_DEPTH:
            mark = self.peek_event().start_mark
            raise yaml.composer.ComposerError(None, None, f"nested more than {MOST_DEPTH} levels deep", mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def flatten_mapping(self, node: Any) -> None:
        """Leaves ``<<`` where it is: without aliases there is nothing to merge."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise yaml.constructor.ConstructorError(None, None, "a key must be text", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} stands twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_whole(self, node: Any) -> int:
        """A whole number, decimal or hexadecimal."""
        digits = str(node.value).replace("_", "")
        if len(digits) > MOST_DIGITS or re.fullmatch(r"[-+]?(0x[0-9a-fA-F]+|\d+)", digits) is None:
            raise yaml.constructor.ConstructorError(
                None, None, f"must be a whole number of at most {MOST_DIGITS} digits", node.start_mark)
        return int(digits, 0)


_BoundedLoader.add_constructor("tag:yaml.org,2002:int", _BoundedLoader.construct_whole)
for _tag, _pattern, _first in (
    ("bool", r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", "yYnNtTfFoO"),
    ("int", r"[-+]?(0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)", "-+0123456789"),
    ("float", r"[-+]?(([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.inf)|\.nan",
     "-+0123456789."),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
):
    _BoundedLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), [c if c != "\0" else "" for c in _first])


def parse_yaml(text: str) -> Any:
    """The value of a YAML document: nothing, scalars, lists, mappings with keys of text.

    Raises
    ------
    FileError
        If it is not YAML, or has what is refused: the line and the problem.
    """
    return _loaded(text, _BoundedLoader.get_single_data)


def parse_sections(text: str, *, source: str) -> dict[str, Any]:
    """A YAML document of sections by their names; an empty one has none.

    Raises
    ------
    FileError
        If it is something else. Other than that of :func:`parse_yaml` the message begins with `source`.
    """
    try:
        values = parse_yaml(text)
    except FileError as error:
        raise FileError(f"{source} {error}") from None
    values = {} if values is None else values
    if not isinstance(values, dict):
        raise FileError(f"{source}: must be a mapping of sections, not {shown(values)}")
    return values


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of a YAML document, with their lines; None if it is empty.

    Raises
    ------
    FileError
        As for :func:`parse_yaml`, but keys are not looked at.
    """
    node: yaml.Node | None = _loaded(text, _BoundedLoader.get_single_node)
    return node


def _loaded(text: str, load: Any) -> Any:
    try:
        loader = _BoundedLoader(text)
        try:
            return load(loader)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FileError(f"is not YAML: {error.problem}" + (f" (line {mark.line + 1})" if mark else "")) from None
    except yaml.YAMLError as error:
        raise FileError(f"is not YAML: {' '.join(str(error).split())}") from None
    except (ValueError, OverflowError) as error:  # an escape that is no character, a number that is none
        raise FileError(f"is not YAML: {error}") from None
