"""Compiled loops over the arrays of a network: what NumPy cannot say. Compiled once, then kept beside the sources."""
