"""Offload units that stand apart: Verilator's wrapper of one, changed so that a unit at rest is not evaluated."""

import re

from rtl.nic.nic import SHARED_UNIT

_CLASS = f"V{SHARED_UNIT}"
_HELD = ("node_id", "watchdog")
"""Inputs that count as events when they change (`OffloadUnit.quiescent`)."""
_EVENT = re.compile(r"handlep__V->(\w*valid|arm|rst) = \(")
_CONTAINER = re.compile(rf"class {_CLASS}_container: public {_CLASS} \{{\n  public:\n    long long m_seqnum;\n")


def resting_wrapper(text: str) -> str:
    """The wrapper with an ``eval`` that leaves a unit alone while it is at rest and no event is at its inputs.

    The wrapper evaluates a unit at both edges of the clock and whenever an input changes. By the contract of
    `OffloadUnit.quiescent` neither registers nor outputs change then. A rising edge that is left out is hidden from the
    unit, so that no later evaluation takes it for one of its own.

    Raises
    ------
    ValueError
        If the text is not as this version of Verilator writes it.
    """
    events = list(dict.fromkeys(_EVENT.findall(text)))
    if not _CONTAINER.search(text) or not {"arm", "rst"} < set(events) or len(events) < 5:
        raise ValueError(f"the wrapper of {SHARED_UNIT} is not as expected: is this another version of Verilator?")
    held = " && ".join(f"{name} == held_{name}" for name in _HELD)
    keep = " ".join(f"held_{name} = {name};" for name in _HELD)
    return _CONTAINER.sub(
        lambda match: match[0] + f"""
    void eval() {{
        const bool events = {' || '.join(events)};
        if (quiescent && calm && !events && !was_high && {held}) {{
            clk = 0;
            return;
        }}
        calm = !events;
        was_high = clk;
        {keep}
        {_CLASS}::eval();
    }}
    bool calm = false, was_high = false;
    IData {', '.join(f'held_{name} = 0' for name in _HELD)};

""", text)
