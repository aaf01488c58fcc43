"""Arithmetic of reductions: floating-point formats, the adder, and the unit that the aggregator talks to."""
