"""Measurements of the packet buffer's tag table."""
