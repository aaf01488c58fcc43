"""Addresses of registers by their names."""

from firmware_models.abi import registers

CONTROL = {register.name: register.offset for register in registers.CONTROL_PAGE}
"""Address of each register of the control page."""
EVENTS = {counter.name: registers.COUNTERS + 8 * index for index, counter in enumerate(registers.EVENT_COUNTERS)}
"""Address of the low half of each event counter."""
STATES = {
    counter.name: registers.STATE_COUNTERS_AT + 8 * index for index, counter in enumerate(registers.STATE_COUNTERS)
}
"""Address of the low half of the cycles of each state of an offload unit."""
_PAGE = {register.name: register.offset for register in registers.VP_PAGE}


def of_port(vp: int, name: str) -> int:
    """Address of a register of a virtual port's page."""
    return registers.VP_PAGES + vp * registers.VP_PAGE_BYTES + _PAGE[name]


def halves(name: str) -> tuple[str, str]:
    """The two registers of a 64-bit value."""
    return f"{name}_lo", f"{name}_hi"
