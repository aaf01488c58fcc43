"""Contracts: each wraps a unit of the RTL with an environment and says what must hold."""
