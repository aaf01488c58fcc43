"""JSON of people: nothing that they write ends in anything but a value or one error."""

import json
from typing import Any

from firmware_models.files.reading import MOST_DIGITS, FileError


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Raises
    ------
    FileError
        If it is not JSON, is nested too deeply, or has a whole number of too many digits.
    """
    try:
        return json.loads(text, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise FileError(f"must be JSON: line {error.lineno}: {error.msg}") from None
    except RecursionError:
        raise FileError("must be JSON that is nested less deeply") from None


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise FileError(f"must have numbers of at most {MOST_DIGITS} digits, not {len(digits)}")
    return int(digits)
