"""Registers and their fields: what a register map is written in.

A :class:`Register` is 32 bits of named fields. Everything that needs the position of a bit of a register (RTL layouts,
drivers, C header, pages, SystemRDL and IP-XACT) asks a register; nothing else in the project writes one down.
"""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from .format import Field, Format, reserved

REGISTER_BITS = 32
REGISTER_BYTES = REGISTER_BITS // 8


class Access(Enum):
    """How software may use a field."""

    RO = "ro"
    RW = "rw"
    WO = "wo"
    W1C = "w1c"
    """Read; write ones to clear."""

    @property
    def readable(self) -> bool:
        """Software reads it."""
        return self is not Access.WO

    @property
    def writable(self) -> bool:
        """A write has an effect."""
        return self is not Access.RO


class OnOne(Enum):
    """Effect on a bit of a 1 that software writes."""

    IGNORES = "ignores it"
    HOLDS = "holds it"
    CLEARS = "clears"
    ACTS = "acts once"
    """The write orders something; the register holds nothing."""


class Winner(Enum):
    """Whose value a field has after a cycle in which hardware and software both write it."""

    NOBODY = "one writer"
    """Only one of the two ever writes it."""
    HARDWARE = "hardware"
    SOFTWARE = "software"


_ON_ONE = {Access.RO: OnOne.IGNORES, Access.RW: OnOne.HOLDS, Access.WO: OnOne.ACTS, Access.W1C: OnOne.CLEARS}


@dataclass(frozen=True)
class RegisterField:
    """Bits `high` to `low` of a register.

    Parameters
    ----------
    name : str
        In snake case; unique within its register. The only field of a register that holds one number is `value`.
    high, low : int
        First and last bit, both included.
    access : Access
        How software may use it.
    doc : str
        One sentence for pages and headers.
    reset : int
        Value after reset.
    winner : Winner
        Who wins when hardware and software write at once.

    Raises
    ------
    ValueError
        If the bits are none of a register's, or the reset value does not fit them.
    """

    name: str
    high: int
    low: int
    access: Access
    doc: str
    reset: int = 0
    winner: Winner = Winner.NOBODY

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high < REGISTER_BITS:
            raise ValueError(f"{self.name}: bits must be within {REGISTER_BITS - 1}:0, not {self.high}:{self.low}")
        if not 0 <= self.reset <= self.max_value:
            raise ValueError(f"{self.name}: reset must be 0 to {self.max_value}, not {self.reset!r}")
        if (self.access is Access.W1C) != (self.winner is not Winner.NOBODY):
            raise ValueError(f"{self.name}: winner must be said of fields that both sides write, and of no others")

    @property
    def on_one(self) -> OnOne:
        """Effect of a written 1."""
        return _ON_ONE[self.access]

    @property
    def width(self) -> int:
        """Width in bits."""
        return self.high - self.low + 1

    @property
    def max_value(self) -> int:
        """Largest value that the bits can hold."""
        return (1 << self.width) - 1

    @property
    def mask(self) -> int:
        """The field's bits in the register, all ones."""
        return self.max_value << self.low

    @property
    def bits(self) -> str:
        """The bits as pages write them: ``23:0``, or ``31`` for one."""
        return str(self.low) if self.width == 1 else f"{self.high}:{self.low}"


@dataclass(frozen=True)
class Register:
    """One 32-bit register, or a row of `count` equal ones, 4 bytes apart.

    Parameters
    ----------
    name : str
        In snake case; unique within its page.
    offset : int
        Of its first byte in the page.
    doc : str
        One sentence for pages and headers.
    fields : tuple of RegisterField
        From the lowest bit up; bits between them are reserved and read 0.
    count : int
        Registers in the row.

    Raises
    ------
    ValueError
        If the offset is not aligned, or fields overlap or share a name.
    """

    name: str
    offset: int
    doc: str
    fields: tuple[RegisterField, ...]
    count: int = 1

    def __post_init__(self) -> None:
        if self.offset % REGISTER_BYTES:
            raise ValueError(f"{self.name}: offset must be a multiple of {REGISTER_BYTES}, not {self.offset:#x}")
        names = [field.name for field in self.fields]
        if len(set(names)) != len(names) or not names:
            raise ValueError(f"{self.name}: field names must be unique, and at least one, not {names!r}")
        free = 0
        for field in self.fields:
            if field.low < free:
                raise ValueError(f"{self.name}.{field.name} must begin at bit {free} or above, not {field.low}")
            free = field.high + 1

    @cached_property
    def format(self) -> Format:
        """The bits up to the highest field as a format, with the gaps as reserved runs."""
        runs: list[Field] = []
        free = 0
        for number, field in enumerate(self.fields):
            if field.low > free:
                runs.append(reserved(number, field.low - free))
            runs.append(Field(field.name, field.width, field.doc))
            free = field.high + 1
        return Format(self.name, self.doc, tuple(runs), word_aligned=False)

    @property
    def width(self) -> int:
        """Significant bits: up to the highest field."""
        return self.fields[-1].high + 1

    @property
    def reset(self) -> int:
        """Value after reset."""
        return sum(field.reset << field.low for field in self.fields)

    @property
    def access(self) -> Access:
        """How software may use the register: what its fields have in common, or both directions."""
        accesses = {field.access for field in self.fields}
        if len(accesses) == 1:
            return accesses.pop()
        return Access.RW if any(access.writable for access in accesses) else Access.RO

    @property
    def is_number(self) -> bool:
        """It holds one number from bit 0 up, named `value`."""
        return [field.name for field in self.fields] == ["value"]

    def __getitem__(self, name: str) -> RegisterField:
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(f"{self.name} has no field {name!r}")

    def pack(self, **values: int) -> int:
        """The word with these values; fields that are not given are 0.

        Raises
        ------
        FormatError
            If a name is no field, or its value does not fit.
        """
        return self.format.to_int(values)

    def unpack(self, word: int) -> dict[str, int]:
        """A value for every field of `word`; reserved bits are left out (never raises)."""
        return {field.name: word >> field.low & field.max_value for field in self.fields}


def number(
    name: str, offset: int, access: Access, doc: str, *, width: int = REGISTER_BITS, reset: int = 0, count: int = 1,
) -> Register:
    """A register that holds one number, its field `value` from bit 0 up."""
    field = RegisterField("value", width - 1, 0, access, doc, reset=reset)
    return Register(name, offset, doc, (field,), count)


def flag(
    name: str, bit: int, access: Access, doc: str, *, reset: int = 0, winner: Winner = Winner.NOBODY
) -> RegisterField:
    """A field of one bit."""
    return RegisterField(name, bit, bit, access, doc, reset=reset, winner=winner)


def halves(value: int) -> tuple[int, int]:
    """The registers `…_lo` and `…_hi` of a value of 64 bits."""
    return value & (1 << REGISTER_BITS) - 1, value >> REGISTER_BITS


def joined(low: int, high: int) -> int:
    """The value of 64 bits whose registers `…_lo` and `…_hi` hold these."""
    return low | high << REGISTER_BITS
