"""Soak: thousands of random operations on the RTL of one cluster, one after the other and at once."""
