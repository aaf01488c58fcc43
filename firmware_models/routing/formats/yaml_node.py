"""YAML with line numbers, so that what is refused can be found."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import yaml

from firmware_models.files import FileError, compose_yaml
from firmware_models.routing.formats.lines import refuse
from firmware_models.routing.network import RoutingError


@dataclass(frozen=True)
class YamlNode:
    """A value in a YAML file."""

    path: Path
    node: yaml.Node

    @property
    def is_mapping(self) -> bool:
        """True if it is a mapping, and no list or scalar."""
        return isinstance(self.node, yaml.MappingNode)

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.path}:{self.node.start_mark.line + 1}"

    def refuse(self, expected: str) -> NoReturn:
        """Raises the error that says what was expected here."""
        found = self.node.value if isinstance(self.node, yaml.ScalarNode) else \
            "a mapping" if isinstance(self.node, yaml.MappingNode) else "a list"
        refuse(self.path, self.node.start_mark.line + 1, expected, str(found))

    def mapping(self, expected: str, allowed: Sequence[str] = ()) -> Iterator[tuple[str, "YamlNode"]]:
        """The keys and values of a mapping whose keys are among `allowed`, where given."""
        if not isinstance(self.node, yaml.MappingNode):
            self.refuse(expected)
        seen = set()
        for key, value in self.node.value:
            name = YamlNode(self.path, key).text(expected)
            if name in seen or (allowed and name not in allowed):
                YamlNode(self.path, key).refuse(f"{expected}, each once")
            seen.add(name)
            yield name, YamlNode(self.path, value)

    def sequence(self, expected: str, length: int | None = None) -> list["YamlNode"]:
        """The items of a list, of `length` where given."""
        if not isinstance(self.node, yaml.SequenceNode) or length not in (None, len(self.node.value)):
            self.refuse(expected)
        return [YamlNode(self.path, item) for item in self.node.value]

    def text(self, expected: str) -> str:
        """A scalar as it stands in the file."""
        if not isinstance(self.node, yaml.ScalarNode):
            self.refuse(expected)
        return str(self.node.value)

    def number(self, expected: str, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        text = self.text(expected)
        if not text.isascii() or not text.isdecimal() or len(text) > 9 or not low <= int(text) <= high:
            self.refuse(expected)
        return int(text)


def parse_yaml(path: Path, text: str) -> YamlNode:
    """The root of a YAML document.

    Raises
    ------
    RoutingError
        If it is not YAML, or empty.
    """
    try:
        node = compose_yaml(text)
    except FileError as error:
        raise RoutingError(f"{path}: {error}") from None
    if node is None:
        refuse(path, 1, "a YAML mapping", "an empty file")
    return YamlNode(path, node)
