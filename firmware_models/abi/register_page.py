"""Pages of registers, and runs of counters: what an address space holds."""

from collections.abc import Iterator
from dataclasses import dataclass

from .format import FormatError
from .register import REGISTER_BYTES, Register


@dataclass(frozen=True)
class Page:
    """The registers of an address space, in the order of their offsets. Iterates over them.

    Raises
    ------
    ValueError
        If names are not unique, or registers overlap.
    """

    registers: tuple[Register, ...]

    def __post_init__(self) -> None:
        names = [register.name for register in self.registers]
        if len(set(names)) != len(names):
            raise ValueError(f"register names must be unique, not {names!r}")
        free = 0
        for register in self.registers:
            if register.offset < free:
                raise ValueError(f"{register.name} must stand at {free:#x} or above, not {register.offset:#x}")
            free = register.offset + REGISTER_BYTES * register.count

    def __iter__(self) -> Iterator[Register]:
        return iter(self.registers)

    def __len__(self) -> int:
        return len(self.registers)

    def __getitem__(self, name: str) -> Register:
        for register in self.registers:
            if register.name == name:
                return register
        raise KeyError(f"there is no register {name!r}")

    def pack(self, name: str, **values: int) -> int:
        """The word of register `name` with these fields. Errors as :meth:`Register.pack`."""
        try:
            register = self[name]
        except KeyError as error:
            raise FormatError(str(error.args[0])) from None
        return register.pack(**values)


@dataclass(frozen=True)
class Counter:
    """A 64-bit counter; the low half stands first. Reading the low half latches the high half."""

    name: str
    doc: str

    BYTES = 2 * REGISTER_BYTES


@dataclass(frozen=True)
class Counters:
    """Counters from `address` on, 8 bytes apart. Iterates over them."""

    address: int
    counters: tuple[Counter, ...]

    def __iter__(self) -> Iterator[Counter]:
        return iter(self.counters)

    def __len__(self) -> int:
        return len(self.counters)

    def offset(self, name: str) -> int:
        """Address of the low half of counter `name`; the high half stands 4 bytes later."""
        for number_, counter in enumerate(self.counters):
            if counter.name == name:
                return self.address + number_ * Counter.BYTES
        raise KeyError(f"there is no counter {name!r}")

    @property
    def end(self) -> int:
        """First address after them."""
        return self.address + len(self.counters) * Counter.BYTES
