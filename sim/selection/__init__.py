"""Which algorithm a collective is carried out by, if nobody says: the one that was fastest where it was measured."""

from .choose import AUTO, TABLE, choose

__all__ = ["AUTO", "TABLE", "choose"]
