"""Messages of MPI's own go on while ranks wait in collectives of the NICs."""

import pytest


@pytest.mark.parametrize(("what", "collective"), [
    ("isend", "Barrier"), ("issend", "Allreduce"), ("irecv", "Barrier"), ("irecv", "Ibarrier"),
    ("accumulate", "Allreduce"), ("unmatched", "Barrier"), ("unmatched", "Allreduce"),
])
def test_messages_go_on(run, compiled, what, collective):
    """A message that a rank has begun, which then waits in a collective, ends at the other rank, which is not there
    yet."""
    result = run("messages.c", ranks=2, command=[compiled("messages.c"), what, collective])
    assert (result.code, result.error) == (0, None)
    assert result.report["offloaded"] == result.report["calls"] == 2
