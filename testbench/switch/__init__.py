"""Benches of the switch."""
