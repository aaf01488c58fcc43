"""Register accesses that nobody should make, and what each is to be answered with."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from firmware_models.abi.register import REGISTER_BYTES, Access, Register
from firmware_models.abi.registers import (
    ADDRESS_BITS,
    CONTROL_PAGE,
    EVENT_COUNTERS,
    STATE_COUNTERS,
    VP_PAGE,
    VP_PAGE_BYTES,
    VP_PAGES,
    vp_address,
)
from firmware_models.config import Config

WHOLE = 0xF
"""Strobes of a whole word."""
KERNELS = ("control", "node_id", "watchdog", "retry_limit", "group_entry", "vp_commit", "window_commit", "job_control")
"""Registers that software relies on: no whole word is written to these."""
_PARTS = 0.4
"""Share of writes that are no whole word."""


def doorbell(vp: int) -> int:
    """Address of the register that says how many descriptors VP `vp` has produced."""
    return vp_address(vp, "dq_prod")


@dataclass(frozen=True)
class RegisterAccess:
    """A read, if it has no `value`, or a write of the bytes that `strobes` names; `refused`: SLVERR is the answer."""

    address: int
    value: int | None
    strobes: int
    refused: bool


class RegisterAccesses:
    """Accesses to every register and everything between them; and what stands in the registers after them.

    A process can reach the page of its VP; the kernel's page is here as well, but for whole words in :data:`KERNELS`.
    Writes that are no whole word go everywhere, also where whole words would do harm: they must have no effect.

    Parameters
    ----------
    config : Config
        The hardware.
    numbers : numpy.random.Generator
        Of everything.
    spared : range of int
        VPs whose pages get no whole words.

    Members
    -------
    held : dict
        What the registers that can be read back hold, as far as something was written to them.
    """

    def __init__(self, config: Config, numbers: np.random.Generator, *, spared: range):
        self.config, self.numbers, self.spared = config, numbers, spared
        self.held: dict[str, int] = {}
        counted = (range(page.address, page.end, REGISTER_BYTES) for page in (EVENT_COUNTERS, STATE_COUNTERS))
        self._readable = {
            register.offset for register in CONTROL_PAGE if register.access is not Access.WO
        }.union(*counted)
        self._by_offset = {register.offset: register for register in CONTROL_PAGE}

    def take(self, count: int) -> Iterator[RegisterAccess]:
        """So many accesses, in the order in which they are to be made."""
        for _ in range(count):
            address = self._address()
            if self.numbers.random() < 0.5:
                yield RegisterAccess(address, None, 0, refused=address not in self._readable)
                continue
            part = self.numbers.random() < _PARTS or not self._may_write(address)
            strobes = int(self.numbers.integers(WHOLE)) if part else WHOLE
            value = int(self.numbers.integers(1 << 32))
            refused = strobes != WHOLE or address % REGISTER_BYTES != 0
            if not refused:
                self._hold(address, value)
            yield RegisterAccess(address, value, strobes, refused)

    def _address(self) -> int:
        """Of a register, near one, in a page of a VP that there is or not, or anywhere."""
        pick = self.numbers.random()
        if pick < 0.45:
            address = int(self.numbers.choice([register.offset for register in CONTROL_PAGE]))
        elif pick < 0.8:
            n_vps = self.config.nic.n_vps
            vp = int(self.numbers.integers(2 * n_vps if pick < 0.75 else (1 << ADDRESS_BITS) // 2 // VP_PAGE_BYTES))
            anywhere = int(self.numbers.integers(VP_PAGE_BYTES))
            offsets = [*(register.offset for register in VP_PAGE), VP_PAGE_BYTES - 4, anywhere]
            address = VP_PAGES + vp * VP_PAGE_BYTES + int(self.numbers.choice(offsets))
        else:
            address = int(self.numbers.integers(1 << (ADDRESS_BITS if pick < 0.9 else 10)))
        return address + int(self.numbers.integers(4)) * (self.numbers.random() < 0.2) & (1 << ADDRESS_BITS) - 1

    def _may_write(self, address: int) -> bool:
        """A whole word there harms nobody who is to be spared."""
        if address >= VP_PAGES:
            return (address - VP_PAGES) // VP_PAGE_BYTES not in self.spared
        register = self._by_offset.get(address - address % REGISTER_BYTES)
        return register is None or register.name not in KERNELS

    def _hold(self, address: int, value: int) -> None:
        register: Register | None = self._by_offset.get(address)
        if register is not None and register.access is Access.RW:
            self.held[register.name] = value & (1 << register.width) - 1
