"""Benches of the stream parts."""
