# amaranth: UnusedElaboratable=no
"""Products of integers, each as many cycles after its factors as the unit is deep."""

import inspect
import random
import sys
from collections import deque

import pytest

from rtl.reduce.int_multiply import IntMultiply
from rtl.reduce.tile_multiply import tile_multiply
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs
from testbench.parts.simulation import run


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


def factor(rng: random.Random, width: int) -> int:
    """Any number; often one that carries far."""
    full = (1 << width) - 1
    return rng.choice((0, 1, full, full >> 1, full ^ full >> 1, full ^ 1, *(rng.getrandbits(width) for _ in range(6))))


# Widths about those of a tile and of a few bits over; the least depth, the next one, and the largest.
@pytest.mark.parametrize(("width", "cycles"), [(1, 5), (17, 6), (18, 5), (20, 7), (21, 5), (32, 8), (64, 5), (64, 16)])
def test_products(rng: random.Random, width: int, cycles: int) -> None:
    """Pairs come when they like; the unit is enabled while one is on its way, and at times when none is."""
    part = IntMultiply(width=width, cycles=cycles)
    on_way: deque[int | None] = deque([None] * cycles)
    results = 0

    def drive(put) -> None:
        a, b = factor(rng, width), factor(rng, width)
        comes = rng.random() < (0.9 if results % 40 < 30 else 0.05)
        put(part.i_a, a)
        put(part.i_b, b)
        on_way.append(a * b % (1 << width) if comes else None)
        put(part.enable, rng.random() < 0.3 or any(product is not None for product in list(on_way)[1:]))

    def settle(read) -> None:
        nonlocal results
        product = on_way.popleft()
        if product is not None:
            assert read(part.o) == product
            results += 1

    run(part, [Inputs(drive, settle)], cycles=250, rng=rng)
    assert results > 60


@pytest.mark.parametrize(("width", "cycles", "message"), [
    (0, 8, "width must be a positive integer, not 0"), (8, 4, "cycles must be an integer of at least 5, not 4"),
])
def test_sizes(width: int, cycles: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        IntMultiply(width=width, cycles=cycles)


@pytest.mark.parametrize("fault", [
    ("cycles=self.cycles - _stages)", "cycles=self.cycles - _stages + 1)"),
    ("wait.enable.eq(self.enable)", "wait.enable.eq(self.enable & (self.i_a != 0))"),
    ("StepValues(a=self.i_a, b=self.i_b)", "StepValues(a=self.i_a, b=self.i_b[:-1])"),
], ids=["a cycle too late", "an idle unit holds", "without the highest bit"])
def test_planted(fault: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "IntMultiply", changed(IntMultiply, *fault))
    with pytest.raises(AssertionError):
        test_products(random.Random(1), 32, 8)


def test_a_tile_in_the_wrong_place_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    source = inspect.getsource(tile_multiply)
    right = "TILE_A * column + TILE_B * row"
    assert right in source
    scope = dict(vars(sys.modules[tile_multiply.__module__]))
    exec(source.replace(right, "TILE_A * column + TILE_A * row"), scope)
    monkeypatch.setattr("rtl.reduce.int_multiply.tile_multiply", scope["tile_multiply"])
    with pytest.raises(AssertionError):
        test_products(random.Random(1), 64, 5)
