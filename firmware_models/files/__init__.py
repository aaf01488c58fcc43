"""Files of people: read within bounds, written whole or not at all."""

from .json_text import parse_json
from .reading import MOST_DIGITS, FileError, read_text, shown
from .writing import aside, check_file, check_folder, write_bytes, write_text, written
from .yaml_text import compose_yaml, parse_sections, parse_yaml

__all__ = [
    "MOST_DIGITS", "FileError", "aside", "check_file", "check_folder", "compose_yaml", "parse_json", "parse_sections",
    "parse_yaml", "read_text", "shown", "write_bytes", "write_text", "written",
]
