"""Pieces of a slice, one by one, whatever pauses there are between them."""

import random
from collections import Counter

import pytest

from rtl.cou.piece_walk import PieceWalk
from rtl.cou.shapes import CouShapes
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs, pack
from testbench.parts.simulation import run
from testbench.unit_config import UNIT

BLOCKS = (2, 4, 32)


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


def draw(rng: random.Random, n_blocks: int) -> dict[str, int]:
    """Pieces; counts about those that the width of a number changes with come often."""
    count = rng.choice((0, 1, 2, 3, n_blocks - 1, n_blocks, rng.randint(0, n_blocks)))
    return {"count": count, "bytes": rng.randint(1, 256), "last_bytes": rng.choice((0, rng.randint(1, 255))),
            "stride": rng.getrandbits(32)}


@pytest.mark.parametrize("n_blocks", BLOCKS)
def test_pieces(rng: random.Random, n_blocks: int) -> None:
    """Size and offset of each, and what is known of the two behind it."""
    part = PieceWalk(shapes=CouShapes(UNIT.changed(cou={"n_blocks": n_blocks})))
    seen: Counter[object] = Counter()
    state = {"slice": draw(rng, n_blocks), "at": 0, "advance": 0}

    def drive(put) -> None:
        state["advance"] = int(rng.random() < 0.7)
        put(part.advance, state["advance"])
        put(part.pieces.as_value(), pack(part.pieces.shape(), state["slice"]))

    def settle(read) -> None:
        pieces, at = state["slice"], state["at"]
        sizes = [pieces["bytes"]] * pieces["count"] + [pieces["last_bytes"]] * (pieces["last_bytes"] > 0) or [0]
        last = at + 1 == len(sizes)
        assert read(part.size) == sizes[at]
        assert read(part.offset) == at * pieces["stride"] % (1 << 32)
        assert read(part.last) == last
        if not last:
            assert read(part.next_last) == (at + 2 == len(sizes))
        if at + 2 < len(sizes):
            assert read(part.whole_then) == (at + 2 < pieces["count"])
        if state["advance"]:
            seen["pieces"] += 1
            seen["ended", pieces["last_bytes"] > 0] += last
            state["at"] = 0 if last else at + 1
            if last:
                state["slice"] = draw(rng, n_blocks)

    run(part, [Inputs(drive, settle)], cycles=1000, rng=rng)
    assert seen["pieces"] > 600
    assert min(seen["ended", False], seen["ended", True]) > 15


FAULTS = {
    "the piece behind the full ones is forgotten": (
        "(number + 2 == pieces.count) & none_over", "(number + 2 == pieces.count)"),
    "the offset goes on into the next slice": (
        "Mux(self.last, 0, self.offset + pieces.stride)", "self.offset + pieces.stride"),
    "one full piece too many": ("number < pieces.count, pieces.bytes", "number <= pieces.count, pieces.bytes"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PieceWalk", changed(PieceWalk, *FAULTS[fault]))
    with pytest.raises(AssertionError):
        test_pieces(random.Random(1), 32)
