"""Worked examples: programs whose collectives run on the simulated hardware."""
