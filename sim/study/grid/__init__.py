"""Grids of points that take long: measured beside each other, kept as they come; runs of a study in processes."""

from .grid import Grid, Key, Point, duration, found_rows, run_as_asked, run_grid

__all__ = ["Grid", "Key", "Point", "duration", "found_rows", "run_as_asked", "run_grid"]
