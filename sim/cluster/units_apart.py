"""Offload units that stand apart: Verilator's wrapper of one, changed so that it evaluates no more than it must."""

import re

from rtl.nic.nic import SHARED_UNIT

_CLASS = f"V{SHARED_UNIT}"
_HELD = ("node_id", "watchdog")
"""Inputs that count as events when they change (`OffloadUnit.quiescent`)."""
_EVENT = re.compile(r"handlep__V->(\w*valid|arm|rst) = \(")
_INPUT = re.compile(r"^ +(?:VL_SET_\w_SVLV\(\d+,  )?handlep__V->(\w+)(?: = \(\1\);|, \1 \+ 0\);)$", re.MULTILINE)
_CONTAINER = re.compile(rf"class {_CLASS}_container: public {_CLASS} \{{\n  public:\n    long long m_seqnum;\n")
_EDGE = "handlep__V->clk = (clk);\n        handlep__V->eval();"
_HEADERS = f"""#include <cstring>
#include <type_traits>
#include "{_CLASS}___024root.h"

bool {_CLASS}___024root___eval_phase__act({_CLASS}___024root*);
bool {_CLASS}___024root___eval_phase__nba({_CLASS}___024root*);

"""


def resting_wrapper(text: str) -> str:
    """The wrapper, changed so that a unit is evaluated no more often than something in it can change.

    Verilator's wrapper evaluates a unit at both edges of the clock and whenever the model around it looks at its
    outputs, each time beginning with what follows from inputs alone, which is nearly everything: Amaranth's registers
    look at the reset. Here

    - a unit at rest without an event at its inputs is left alone: by the contract of `OffloadUnit.quiescent` neither
      registers nor outputs change. An edge that is left out is hidden from it, so that no later evaluation takes it for
      one of its own;
    - a rising edge carries out what follows it and nothing before, for inputs have been taken when they came;
    - a falling edge does nothing, and may be left out;
    - inputs are taken when one of them has changed.

    Raises
    ------
    ValueError
        If the text is not as this version of Verilator writes it.
    """
    events = list(dict.fromkeys(_EVENT.findall(text)))
    inputs = [name for name in dict.fromkeys(_INPUT.findall(text)) if name != "clk"]
    is_known = _CONTAINER.search(text) and text.count(_EDGE) == 1 and set(events) <= set(inputs)
    if not is_known or not {"arm", "rst", *_HELD} < set(inputs) or len(events) < 5:
        raise ValueError(f"the wrapper of {SHARED_UNIT} is not as expected: is this another version of Verilator?")
    members = "".join(f"    std::remove_reference_t<decltype({name})> taken_{name};\n" for name in inputs)
    changed = " ||\n            ".join(f"std::memcmp(&taken_{name}, &{name}, sizeof {name})" for name in inputs)
    take = "".join(f"        std::memcpy(&taken_{name}, &{name}, sizeof {name});\n" for name in inputs)
    return _HEADERS + _CONTAINER.sub(
        lambda match: match[0] + f"""
    void edge() {{
        auto& seen = rootp->__Vtrigprevexpr___TOP__clk__0;
        if (rests()) {{
            seen = clk;
        }} else if (!begun) {{
            take_inputs();
        }} else {{
            seen = 0;
            if (!clk) return;
            do {{
                while ({_CLASS}___024root___eval_phase__act(rootp)) {{}}
            }} while ({_CLASS}___024root___eval_phase__nba(rootp));
        }}
    }}
    void eval() {{
        if (!rests() && (!begun || changed())) take_inputs();
    }}

  private:
    bool rests() {{
        const bool events = {' || '.join(events)};
        if (quiescent && calm && !events && {' && '.join(f'{name} == held_{name}' for name in _HELD)}) return true;
        calm = !events;
        {' '.join(f'held_{name} = {name};' for name in _HELD)}
        return false;
    }}
    bool changed() const {{
        return {changed};
    }}
    void take_inputs() {{
{take}        begun = true;
        {_CLASS}::eval();
    }}
{members}    IData {', '.join(f'held_{name} = 0' for name in _HELD)};
    bool calm = false, begun = false;

  public:
""", text.replace(_EDGE, _EDGE.replace("eval", "edge")))
