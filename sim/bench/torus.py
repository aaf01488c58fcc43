"""Networks of switches of radix 8 for any number of nodes."""

_TERMINALS = 4
"""Nodes of each switch, which has as many cables to its neighbours in two dimensions."""


def torus(nodes: int) -> str:
    """Name of a torus of two dimensions, about square, with room for `nodes`: its switches have 8 ports.

    Examples
    --------
    >>> torus(256), torus(1024), torus(40)
    ('torus:8x8:4', 'torus:16x16:4', 'torus:3x4:4')
    """
    switches = max(-(-nodes // _TERMINALS), 9)
    width = max(3, int(switches**0.5))
    return f"torus:{width}x{max(3, -(-switches // width))}:{_TERMINALS}"
