"""Files of people: read within bounds, written whole or not at all."""

from .json_text import parse_json
from .reading import FileError, read_text, shown
from .yaml_text import compose_yaml, parse_yaml

__all__ = ["FileError", "compose_yaml", "parse_json", "parse_yaml", "read_text", "shown"]
