"""Benches of the arithmetic: cocotb against NumPy, and a fast path in C++ against the host's own arithmetic."""
