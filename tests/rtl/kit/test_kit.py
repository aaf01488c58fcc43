"""Stream FIFO, skid buffer and arbiters."""

import pytest

from rtl.kit.alternating_queue import AlternatingQueue
from rtl.kit.arbiter import PacketArbiter, StreamArbiter
from rtl.kit.queue import BlockQueue, LutQueue, stream_queue
from rtl.kit.round_robin import RoundRobin
from testbench.kit.parts import kit_bundle
from testbench.runner import run_bench


def test_kit():
    run_bench(kit_bundle(), bench="testbench.kit.kit_bench")


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("bad", [0, -1, 1.5, "4"])
def test_sizes_are_checked(bad):
    with pytest.raises(ValueError, match=f"^depth must be a positive integer, not {bad!r}$"):
        stream_queue(shape=8, depth=bad)
    with pytest.raises(ValueError, match=f"^n must be a positive integer, not {bad!r}$"):
        StreamArbiter(shape=8, n=bad)
    with pytest.raises(ValueError, match=f"^n must be a positive integer, not {bad!r}$"):
        PacketArbiter(data_width=64, n=bad)
    with pytest.raises(ValueError, match=f"^n must be a positive integer, not {bad!r}$"):
        RoundRobin(n=bad)


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize(("queue", "bad", "allowed"), [
    *((LutQueue, bad, "an integer from 3 to 16") for bad in (0, 2, 17, 3.0)),
    *((BlockQueue, bad, "an integer of at least 4") for bad in (0, 3, 4.0)),
])
def test_depths_of_queues_are_checked(queue, bad, allowed):
    with pytest.raises(ValueError, match=f"^depth must be {allowed}, not {bad!r}$"):
        queue(shape=8, depth=bad)


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("bad", [1, 0, -1, 2.0])
def test_depth_of_turns_is_checked(bad):
    with pytest.raises(ValueError, match=f"^depth must be an integer of at least 2, not {bad!r}$"):
        AlternatingQueue(shape=8, depth=bad, key=lambda item: item[0])
