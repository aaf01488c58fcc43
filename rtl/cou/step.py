"""What the trigger does with a context that it looks at."""

from amaranth import Const
from amaranth.lib import data

STEPS = ("search", "give_up", "measure", "load", "ask", "read", "check", "credit", "run")
"""In order of precedence: look for what is missing of an operation that is given up; give it up; work out where the
slice lies; have the operand loaded; ask for the packet; read its header; have an address checked; take a credit; hand
the pass over."""

Step = data.StructLayout(dict.fromkeys(STEPS, 1))
"""A bit for each step, of which one is set at most."""


WAITS = {
    "FETCH_START": "START", "FETCH_RETIRE": "RETIRE", "FETCH_LOOK": "FETCHED", "FETCHED": "PLAN",
    "PLANNED": "DECIDED", "DECIDED": "LOOK", "SEARCH_NEXT": "SEARCH",
}
"""States in which a pipelined trigger waits for what a register gets: the record and the operation, the descriptor, the
plan, the step, the key of a look-up. What follows each of them."""


def first_step(step, **reasons):
    """Statements that set the bit of the first step that there is a reason for; `reasons` are those of all of them."""
    statements, earlier = [], Const(0, 1)
    for name in STEPS:
        statements.append(step[name].eq(reasons[name] & ~earlier))
        earlier = earlier | reasons[name]
    return statements
