"""Bench of the point-to-point path."""
