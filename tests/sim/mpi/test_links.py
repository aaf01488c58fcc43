"""Connections of ranks that end early."""

import socket
from contextlib import closing

from sim.mpi.links import Door


def test_rank_that_ends_before_it_says_who_it_is():
    """Its connection is taken and is no link; so is the next one's."""
    with closing(Door()) as door:
        for _ in range(2):
            rank = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            rank.connect(f"\0{door.name}")
            rank.close()
            assert door.accept() is None
