"""Addresses of registers by their names."""

from firmware_models.abi.registers import CONTROL_PAGE

CONTROL = {register.name: register.offset for register in CONTROL_PAGE}
"""Address of each register of the control page."""


def halves(name: str) -> tuple[str, str]:
    """The two registers of a 64-bit value."""
    return f"{name}_lo", f"{name}_hi"
