"""Boards with the self-test design: their serial line, a simulated one, and collectives on them."""

from .board import Board

__all__ = ["Board"]
