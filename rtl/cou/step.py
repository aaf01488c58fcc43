"""Steps that the trigger takes with a context."""

from amaranth.lib import data

STEPS = ("search", "give_up", "load", "ask", "check", "credit", "run")
"""In order of precedence: look for what is missing of an operation that is given up; give it up; have the operand
loaded; ask for the packet; have an address checked; take a credit; hand the pass over."""

Step = data.StructLayout(dict.fromkeys(STEPS, 1))
"""A bit for each step, of which one is set."""
