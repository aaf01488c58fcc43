"""Communicators have their numbers from when they are made, and none waits for another."""

import pytest


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])
def test_every_constructor(run, compiled, ranks):
    """Two communicators of each, used in another order at each rank; and by four threads at once."""
    result = run("numbers.c", ranks=ranks, command=[compiled("numbers.c")])
    assert (result.code, result.error) == (0, None)
    # Halves of two ranks are of one.
    alone = [("Allreduce", "a communicator of one rank")] if ranks == 2 else []
    assert [(row["operation"], row["reason"]) for row in result.report["passed"]] == alone
    assert result.report["calls"] == ranks * 2 * (16 + 4 + 4 * 5 * 2)


@pytest.mark.parametrize("ranks", [2, 3])
def test_none_waits_for_another(run, compiled, ranks):
    """A sum of the NICs, and something of MPI's on another communicator, in another order at each rank."""
    result = run("orders.c", ranks=ranks, command=[compiled("orders.c")])
    assert (result.code, result.error) == (0, None)
    done = {row["operation"]: row["operations"] for row in result.report["operations"]}
    assert done == {"Allreduce": 14, "Barrier": 1}
