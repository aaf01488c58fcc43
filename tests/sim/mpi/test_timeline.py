"""When each rank was where, and the picture of it."""

import pytest

from sim.mpi.timeline import MOST_OPERATIONS, Timeline, bars


def test_times_begin_with_the_first_call():
    timeline = Timeline("simulated")
    timeline.add("Barrier", (0, 1), (5.0, 7.0), (8.0, 9.0), by="NICs")
    timeline.add("Bcast", (1,), (12.0,), (12.0,), by="MPI")
    report = timeline.report()
    assert (report["clock"], report["left_out"]) == ("simulated", 0)
    assert report["operations"] == [
        {"operation": "Barrier", "by": "NICs", "ranks": [0, 1], "called": [0.0, 2.0], "complete": 2.0,
         "over": [3.0, 4.0]},
        {"operation": "Bcast", "by": "MPI", "ranks": [1], "called": [7.0], "complete": 7.0, "over": [7.0]},
    ]


def test_the_picture():
    """Ranks wait for the last one, then for the NICs; who is done before that has waited for nobody."""
    timeline = Timeline("simulated")
    timeline.add("Reduce", (0, 1, 2), (0.0, 2.0, 4.0), (1.0, 5.0, 8.0), by="NICs")
    picture = bars(timeline.report(), width=80)
    assert picture["seconds"] == 8
    rows = {row["rank"]: [(bar["kind"], bar["x"], bar["width"]) for bar in row["bars"]] for row in picture["rows"]}
    assert rows == {
        0: [("waits", 0, 10)], 1: [("waits", 20, 20), ("NICs", 40, 10)], 2: [("NICs", 40, 40)],
    }


@pytest.mark.parametrize("operations", [0, 3, MOST_OPERATIONS + 7])
def test_the_first_are_kept(operations):
    timeline = Timeline("machine")
    for number in range(operations):
        timeline.add("Barrier", (0,), (float(number),), (number + 0.5,), by="NICs")
    report = timeline.report()
    assert len(report["operations"]) == min(operations, MOST_OPERATIONS)
    assert report["left_out"] == max(0, operations - MOST_OPERATIONS)
    assert bars(report, width=10)["seconds"] == (min(operations, MOST_OPERATIONS) - 0.5 if operations else 0)
