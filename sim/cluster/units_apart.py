"""Offload units that stand apart: Verilator's wrapper of one, changed so that it evaluates no more than it must, and
those of a NIC together.
"""

import re

from rtl.nic.nic import SHARED_UNIT
from sim.cluster.still_units import UNSEEN

_CLASS = f"V{SHARED_UNIT}"
_HELD = ("node_id", "watchdog")
"""Inputs that count as events when they change (`OffloadUnit.quiescent`)."""
_EVENT = re.compile(r"handlep__V->(\w*valid|arm|rst) = \(")
_INPUT = re.compile(r"^ +(?:VL_SET_\w_SVLV\(\d+,  )?handlep__V->(\w+)(?: = \(\1\);|, \1 \+ 0\);)$", re.MULTILINE)
_CONTAINER = re.compile(rf"class {_CLASS}_container: public {_CLASS} \{{\n  public:\n    long long m_seqnum;\n")
_CREATED = f"new {_CLASS}_container{{scopep__V}};\n"
_ROOT = f"{_CLASS}___024root"
_EDGE_CODE = re.compile(
    rf"^void {_ROOT}___eval_nba\({_ROOT}\* vlSelf\) \{{\n.*?"
    r"^    if \(\(1ULL & vlSelfRef\.__VnbaTriggered\[0U\]\)\) \{\n(.*?)^    \}\n\}\n",
    re.MULTILINE | re.DOTALL,
)
_CALL = re.compile(r"^ {8}((\w+?)___nba_\w+)\((?:vlSelf|\(&(vlSymsp->\w+)\))\);\n", re.MULTILINE)
_HEADERS = f"""#include <array>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>
#include "{_ROOT}.h"
#include "{_CLASS}__Syms.h"

bool {_ROOT}___eval_phase__act({_ROOT}*);
"""


def edge_of_all(text: str) -> str:
    """A function that carries out a rising edge in several units: each step in all of them before the next one, so
    that a step's code comes to the processor once for all units.

    Parameters
    ----------
    text : str
        The file with the unit's `eval_nba`.

    Raises
    ------
    ValueError
        If it is not as this version of Verilator writes it.
    """
    found = _EDGE_CODE.search(text)
    if not found:
        raise ValueError(f"no eval_nba of {SHARED_UNIT} as expected: is this another version of Verilator?")
    calls = _CALL.findall(found[1])
    if _CALL.sub("", found[1]):  # small units have steps that are no functions: all of a unit is one step then
        calls = [(f"{_ROOT}___eval_nba", _ROOT, "")]
    declared = "".join(dict.fromkeys(f"void {name}({kind}*);\n" for name, kind, _part in calls))
    steps = "".join(
        f"    for (auto* unit : units) {name}({f'&unit->{part}' if part else 'unit'});\n" for name, _kind, part in calls
    )
    return f"{declared}\nstatic void edge_of_all(const std::vector<{_ROOT}*>& units) {{\n{steps}}}\n\n"


def resting_wrapper(text: str, edge: str, comparison: str, calls: str, n_units: int) -> str:
    """The wrapper, changed so that a unit is evaluated no more often than something in it can change.

    Verilator's wrapper evaluates a unit at both edges of the clock and whenever the model around it looks at its
    outputs, each time beginning with what follows from inputs alone, which is nearly everything: Amaranth's registers
    look at the reset. Here

    - a unit at rest without an event at its inputs is left alone: by the contract of `OffloadUnit.quiescent` neither
      registers nor outputs change. An edge that is left out is hidden from it, so that no later evaluation takes it for
      one of its own;
    - so is a unit in which the last edge has changed nothing, as long as no input changes (:mod:`still_units`). That is
      looked at where no part of it has been at work: elsewhere it would nearly always be in vain;
    - a rising edge carries out what follows it and nothing before, for inputs have been taken when they came;
    - so it may come to all units of a NIC with the first of them;
    - a falling edge does nothing, and may be left out;
    - inputs are taken when one of them has changed; payloads that nobody looks at stay as they were.

    Parameters
    ----------
    text : str
        Verilator's wrapper.
    edge : str
        What :func:`edge_of_all` returned.
    comparison : str
        What :func:`still_units.comparison` returned.
    calls : str
        What :func:`unit_calls.direct_calls` returned.
    n_units : int
        Units of a NIC. They are created one after the other.

    Raises
    ------
    ValueError
        If the text is not as this version of Verilator writes it.
    """
    events = list(dict.fromkeys(_EVENT.findall(text)))
    inputs = [name for name in dict.fromkeys(_INPUT.findall(text)) if name != "clk"]
    is_known = (
        _CONTAINER.search(text) and text.count(_CREATED) == 1 and set(events) <= set(inputs)
    )
    if not is_known or not {"arm", "rst", *_HELD} < set(inputs) or len(events) < 5:
        raise ValueError(f"the wrapper of {SHARED_UNIT} is not as expected: is this another version of Verilator?")
    members = "".join(f"    std::remove_reference_t<decltype({name})> taken_{name};\n" for name in inputs)
    changed = " ||\n            ".join(f"std::memcmp(&taken_{name}, &{name}, sizeof {name})" for name in inputs)
    ports = {name: name.replace("___05F", "__") for name in inputs}
    unseen = "".join(
        f"            if (!{name.removesuffix('payload')}valid) std::memcpy(&{name}, &taken_{name}, sizeof {name});\n"
        for name, port in ports.items() if port in UNSEEN
    )
    take = "".join(f"        std::memcpy(&taken_{name}, &{name}, sizeof {name});\n" for name in inputs)
    text = text.replace(_CREATED, _CREATED + "        handlep__V->join();\n")
    return _HEADERS + edge + _CONTAINER.sub(
        lambda match: match[0] + f"""
    void join() {{
        // A NIC creates its units in one go, in the thread that evaluates it first.
        thread_local std::shared_ptr<std::vector<{_CLASS}_container*>> forming;
        if (!forming || forming->size() == {n_units}) forming.reset(new std::vector<{_CLASS}_container*>);
        forming->push_back(this);
        units = forming;
    }}
    void edge() {{
        if (has_risen) {{
            has_risen = false;
            return;
        }}
        thread_local std::vector<{_ROOT}*> awake;
        thread_local std::vector<{_CLASS}_container*> idle;
        awake.clear();
        idle.clear();
        for (auto* unit : *units) {{
            unit->clk = clk;
            unit->has_risen = unit != this;
            if (!unit->rises()) continue;
            awake.push_back(unit->rootp);
            if (unit->moves) continue;
            idle.push_back(unit);
            unit->keep_registers();
        }}
        if (awake.empty()) return;
        edge_of_all(awake);
        for (auto* unit : awake) unit->__VnbaTriggered[0] = 0;
        for (auto* unit : idle) unit->still = !unit->has_changed();
    }}
    void eval() {{
        if (rests()) return;
        if (begun) {{
{unseen}            if (!changed()) return;
        }}
        take_inputs();
    }}

  private:
    bool rises() {{
        auto& seen = rootp->__Vtrigprevexpr___TOP__clk__0;
        if (rests() || still) {{
            seen = clk;
            return false;
        }}
        if (!begun) {{
            take_inputs();
            return false;
        }}
        seen = 0;
        if (clk) {_ROOT}___eval_phase__act(rootp);
        return clk;
    }}
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
        still = false;
        {_CLASS}::eval();
    }}
{members}    IData {', '.join(f'held_{name} = 0' for name in _HELD)};
    bool calm = false, begun = false, has_risen = false, still = false;
{comparison}    std::shared_ptr<std::vector<{_CLASS}_container*>> units;

  public:
""", text) + calls
