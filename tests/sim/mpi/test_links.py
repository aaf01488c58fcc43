"""Connections of ranks that end early."""

import socket
from contextlib import closing

import numpy as np

from sim.mpi.links import Door, Link
from sim.mpi.wire import REQUEST, RequestKind


def test_rank_that_ends_before_it_says_who_it_is():
    """Its connection is taken and is no link; so is the next one's."""
    with closing(Door()) as door:
        for _ in range(2):
            rank = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            rank.connect(f"\0{door.name}")
            rank.close()
            assert door.accept() is None


def test_what_was_said_before_a_reset_is_heard():
    """A process that leaves something unread resets its connection: its last message counts all the same."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with closing(ours):
        ours.send(b"an answer")
        theirs.send(bytes([RequestKind.BYE]) + bytes(REQUEST.size - 1))
        theirs.close()
        link = Link(ours, 0, 1, np.zeros(1, np.uint8))
        heard = link.hear()
        assert heard is not None
        assert heard[0].kind == RequestKind.BYE
        assert link.hear() is None
