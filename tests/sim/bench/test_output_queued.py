"""The switch with queues at its outputs, where its throughput is known."""

import pytest

from sim.bench.output_queued import output_queued_throughput


def throughput(**changed: int) -> float:
    return output_queued_throughput(
        **({"radix": 8, "buffer_flits": 4096, "packet_flits": 4, "cycles": 20_000, "seed": 1} | changed),
    )


def test_nothing_is_lost_with_room() -> None:
    assert throughput() > 0.99
    assert throughput(radix=1) == 1.0


@pytest.mark.parametrize("buffer_flits", [4, 8, 16, 64])
def test_a_buffer_below_the_credits_way_sets_the_rate(buffer_flits: int) -> None:
    """One port: as many flits as there are credits, each of which is back 8 cycles after its flit has left, and one
    cycle after that the next has."""
    rate = throughput(radix=1, buffer_flits=buffer_flits, cycles=90_000)
    assert rate == pytest.approx(min(1.0, buffer_flits / 9), abs=0.001)


def test_deeper_is_better() -> None:
    """260 flits a packet: long runs, each depth above the one before."""
    rates = [throughput(buffer_flits=depth, packet_flits=260, cycles=400_000) for depth in (512, 1024, 2048, 4096)]
    assert rates == sorted(rates)
    assert rates[2] < 0.95 < rates[3] < 1


@pytest.mark.parametrize("name", ["radix", "buffer_flits", "packet_flits", "cycles"])
def test_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be at least 1, not 0$"):
        throughput(**{name: 0})
