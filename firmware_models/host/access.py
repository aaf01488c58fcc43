"""Register accesses as values: what a driver wants done, apart from who does it.

The library touches no register itself. A step that needs registers is a generator: it yields :class:`Read` and
:class:`Write`, is sent the value of what it has read, and returns its result. So one text of every step serves a caller
that waits for nobody (:func:`carry_out`) and a coroutine that waits for a bus (:func:`carry_out_async`).
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Read:
    """A register to be read."""

    address: int


@dataclass(frozen=True, slots=True)
class Write:
    """A register to be written; a simulation does it at cycle `not_before` or later."""

    address: int
    value: int
    not_before: int = 0


Access = Read | Write
Steps = Generator[Access, int, T]
"""Accesses one after the other, and a result of type T."""


class RegisterBus(Protocol):
    """Registers that can be reached at once."""

    def read_register(self, address: int) -> int:
        """Value of a register."""

    def write_register(self, address: int, value: int, *, not_before: int = 0) -> None:
        """Writes a register, now or later; writes stay in order."""


class AsyncRegisterBus(Protocol):
    """Registers behind a bus that a coroutine waits for."""

    async def read_register(self, address: int) -> int:
        """Value of a register."""

    async def write_register(self, address: int, value: int, *, not_before: int = 0) -> None:
        """Writes a register."""


def carry_out(steps: Steps[T], bus: RegisterBus) -> T:
    """Does what `steps` asks for; its result."""
    answer = 0
    try:
        access = next(steps)
        while True:
            match access:
                case Read(address):
                    answer = bus.read_register(address)
                case Write(address, value, not_before):
                    bus.write_register(address, value, not_before=not_before)
            access = steps.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def carry_out_async(steps: Steps[T], bus: AsyncRegisterBus) -> T:
    """Does what `steps` asks for, waiting for the bus; its result."""
    answer = 0
    try:
        access = next(steps)
        while True:
            match access:
                case Read(address):
                    answer = await bus.read_register(address)
                case Write(address, value, not_before):
                    await bus.write_register(address, value, not_before=not_before)
            access = steps.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
