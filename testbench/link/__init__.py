"""Benches of the link."""
