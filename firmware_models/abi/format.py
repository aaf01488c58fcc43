"""Bit formats: the one place where a bit position is computed.

A :class:`Format` is a sequence of fields, least significant bit first, in 64-bit little-endian words.
Everything that needs a bit position (RTL layouts, Python codecs, C header, documentation) asks a
format; nothing else in the project writes one down.
"""

import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

WORD_BITS = 64


class FormatError(ValueError):
    """A value does not fit its field, or a buffer is no valid encoding."""


@dataclass(frozen=True)
class Field:
    """One named field.

    Parameters
    ----------
    name : str
        Field name, in snake case; unique within its format.
    width : int
        Width in bits, at least 1.
    doc : str
        One sentence for the generated pages.
    values : IntEnum class, optional
        The encodings that are allowed. Without it, every value of `width` bits is.
    """

    name: str
    width: int
    doc: str
    values: type[IntEnum] | None = None

    @property
    def is_reserved(self) -> bool:
        """Reserved bits must be zero when written; a reader may rely on that."""
        return self.name.startswith("reserved_")

    @property
    def max_value(self) -> int:
        """Largest value that the bits can hold."""
        return (1 << self.width) - 1


def reserved(index: int, width: int) -> Field:
    """A run of reserved bits; `index` only makes its name unique."""
    return Field(f"reserved_{index}", width, "Reserved; must be zero.")


@dataclass(frozen=True)
class Format:
    """A named sequence of fields, packed least significant bit first.

    A field does not straddle a 64-bit word unless it fills whole words. The total is a whole number
    of words if `word_aligned` (formats that stand in memory or on the wire are).

    Raises
    ------
    ValueError
        On construction, if one of these rules is broken.
    """

    name: str
    doc: str
    fields: tuple[Field, ...]
    word_aligned: bool = True

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields]
        if len(set(names)) != len(names):
            raise ValueError(f"{self.name}: field names must be unique, not {names!r}")
        if not self.word_aligned:
            return
        for field, offset in self.positions():
            bit = offset % WORD_BITS
            if bit + field.width > WORD_BITS and (bit or field.width % WORD_BITS):
                raise ValueError(f"{self.name}.{field.name} must not straddle a word at bit {offset}")
        if self.width % WORD_BITS:
            raise ValueError(f"{self.name} must be a whole number of words, not {self.width} bits")

    def positions(self) -> Iterator[tuple[Field, int]]:
        """Yields every field with the offset in bits of its least significant bit."""
        offset = 0
        for field in self.fields:
            yield field, offset
            offset += field.width

    @property
    def width(self) -> int:
        """Width in bits."""
        return sum(field.width for field in self.fields)

    @property
    def bytes(self) -> int:
        """Size in bytes, rounded up."""
        return (self.width + 7) // 8

    def __getitem__(self, name: str) -> Field:
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(f"{self.name} has no field {name!r}")

    def offset(self, name: str) -> int:
        """Offset in bits of the least significant bit of field `name`."""
        for field, offset in self.positions():
            if field.name == name:
                return offset
        raise KeyError(f"{self.name} has no field {name!r}")

    def to_int(self, values: Mapping[str, int]) -> int:
        """Packs `values` into one integer; fields that are not given are zero.

        Raises
        ------
        FormatError
            If a name is no field, is reserved, or its value does not fit.
        """
        bits = 0
        for name, value in values.items():
            try:
                field, offset = self[name], self.offset(name)
            except KeyError as error:
                raise FormatError(str(error.args[0])) from None
            if field.is_reserved and value:
                raise FormatError(f"{self.name}.{name} must be 0, not {value!r}")
            if not 0 <= value <= field.max_value:
                raise FormatError(f"{self.name}.{name} must be 0 to {field.max_value}, not {value!r}")
            if field.values is not None and value not in field.values._value2member_map_:
                allowed = ", ".join(f"{int(m)} ({m.name})" for m in field.values)
                raise FormatError(f"{self.name}.{name} must be one of {allowed}, not {value!r}")
            bits |= int(value) << offset
        return bits

    def pack(self, **values: int) -> builtins.bytes:
        """Packs `values` into little-endian bytes. Errors as :meth:`to_int`."""
        return self.to_int(values).to_bytes(self.bytes, "little")

    def from_int(self, bits: int) -> dict[str, int]:
        """Unpacks an integer into a value per field, reserved runs included (never raises)."""
        return {field.name: (bits >> offset) & field.max_value for field, offset in self.positions()}

    def unpack(self, data: builtins.bytes) -> dict[str, int]:
        """Unpacks little-endian bytes; no encoding is checked.

        Raises
        ------
        FormatError
            If `data` has another length than the format.
        """
        if len(data) != self.bytes:
            raise FormatError(f"{self.name} must be {self.bytes} bytes, not {len(data)}")
        return self.from_int(int.from_bytes(data, "little"))
