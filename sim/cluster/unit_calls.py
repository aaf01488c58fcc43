"""How a NIC's code calls offload units that stand apart.

Verilator calls a model of its own over DPI: every input and output is turned into four-valued vectors and back, and
all inputs are turned once more before each edge for a function that does nothing. Both sides are of the same types
here, so values are copied as they are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rtl.nic.nic import SHARED_UNIT
from sim.cluster.still_units import UnknownCodeError

_FUNCTION = re.compile(
    rf"^void \w+_Vdpiimwrap_{SHARED_UNIT}_protectlib_(combo_update|combo_ignore|seq_update)\w*\((.*)\) \{{\n"
    r"(?:(?!\}).*\n)*\}\n", re.MULTILINE,
)
_PARAMETER = re.compile(r"([CSIQ]Data|VlWide<\d+>)/\*[\d:]+\*/ (&?)(\w+)")
_CONTAINER = f"V{SHARED_UNIT}_container"


@dataclass(frozen=True)
class _Parameter:
    kind: str
    is_output: bool
    name: str

    def declared(self) -> str:
        return f"{self.kind if self.is_output else f'const {self.kind}'}& {self.name}"


def direct_calls(code: str) -> tuple[str, str]:
    """A NIC's code with calls that convert nothing, and the functions that it calls, for the file of the wrapper.

    Parameters
    ----------
    code : str
        A file of what Verilator has written for the NIC.

    Returns
    -------
    str, str
        The code, and definitions; unchanged and empty if the file has none of these calls' functions.

    Raises
    ------
    UnknownCodeError
        If functions of these names have other parameters.
    """
    defined: list[str] = []

    def replaced(found: re.Match[str]) -> str:
        head, what = found[0].split("\n", 1)[0], found[1]
        if what == "combo_ignore":
            return f"{head}\n}}\n"
        parameters = [_parameter(text) for text in found[2].split(", ")]
        names = ", ".join(parameter.name for parameter in parameters)
        declared = f"void conic_unit_{what}({', '.join(parameter.declared() for parameter in parameters)})"
        defined.append(f"{declared} {{\n{_body(what, parameters)}}}\n")
        return f"{declared};\n{head}\n    conic_unit_{what}({names});\n}}\n"

    return _FUNCTION.sub(replaced, code), "\n".join(defined)


def _parameter(text: str) -> _Parameter:
    found = _PARAMETER.fullmatch(text)
    if not found:
        raise UnknownCodeError(f"a parameter {text!r} of a call of {SHARED_UNIT}")
    return _Parameter(found[1], bool(found[2]), found[3])


def _body(what: str, parameters: Sequence[_Parameter]) -> str:
    """Inputs to the unit, its evaluation, outputs from it, and the number of the call."""
    handle, number, ports = parameters[0], parameters[-1], parameters[1:-1]
    if handle.is_output or not number.is_output or {handle.kind, number.kind} != {"QData"}:
        raise UnknownCodeError(f"parameters of {what} of {SHARED_UNIT}")
    into = "".join(f"    unit->{port.name} = {port.name};\n" for port in ports if not port.is_output)
    out_of = "".join(f"    {port.name} = unit->{port.name};\n" for port in ports if port.is_output)
    call = "edge" if what == "seq_update" else "eval"
    return (
        f"    auto* const unit = reinterpret_cast<{_CONTAINER}*>({handle.name});\n{into}    unit->{call}();\n{out_of}"
        f"    {number.name} = unit->m_seqnum++;\n"
    )
