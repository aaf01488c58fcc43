"""CREDIT packets: one for each consumed packet, and one for each shared credit that returns unused."""

import random

import pytest

from firmware_models.abi.encoding import PacketType
from firmware_models.abi.formats import WIRE
from rtl.abi import PacketHeader
from rtl.credit.credit_return import CreditReturn
from rtl.credit.layouts import credit_notice
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs
from testbench.parts.simulation import Offers, Takes, fields, run


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


def header_of(notice: int, node_id: int) -> dict[str, int]:
    """Fields of the CREDIT packet for a notice."""
    of = fields(credit_notice(), notice)
    same = ("job_id", "peer", "credits", "loan", "want", "dest_id", "dest_vp", "source_vp")
    known = {**{name: of[name] for name in same}, "type": PacketType.CREDIT, "version": 1, "source_id": node_id,
             "tag": of["window_slot"] + 4 * of["shared"]}
    return {**dict.fromkeys(PacketHeader.members, 0), **known}


@pytest.mark.parametrize("lending", [True, False])
def test_credits(rng: random.Random, lending: bool) -> None:
    """Each leaves once, in the order of its source; without a pool at once, and nothing returns unused."""
    part = CreditReturn(data_width=64, shares=lending, formats=WIRE)
    node_id = rng.getrandbits(24)
    notices, unused, sink = Offers(part.i, rng), Offers(part.i_unused, rng), Takes(part.o.header, rng)

    def settle(read) -> None:
        assert not read(part.o.payload.valid)
        if not lending:
            assert read(part.o.header.valid) == (notices.offered is not None)

    run(part, [Inputs(lambda put: put(part.node_id, node_id), settle), notices, unused, sink], cycles=500, rng=rng)
    found = [fields(PacketHeader, item) for item in sink.taken]
    sources = [[header_of(item, node_id) for item in source.taken] for source in (notices, unused)]
    if not lending:
        assert len(found) > 150
        assert found == sources[0]
        assert not unused.taken
        return
    # Any interleaving of the two is right; nothing is left but an item in the register of the arbiter.
    left = [list(source) for source in sources]
    for header in found:
        source = next((source for source in left if source and source[0] == header), None)
        assert source is not None, "a packet that nobody gave, or out of order"
        source.pop(0)
    assert len(left[0]) + len(left[1]) <= 1
    assert min(len(source) for source in sources) > 100


FAULTS = {
    "the peer of another": ("header.peer.eq(credit.peer)", "header.peer.eq(credit.dest_id)"),
    "a window slot without its upper bit": (
        "credit.window_slot | credit.shared", "credit.window_slot[:1] | credit.shared",
    ),
    "a credit that is not taken": ("notice.ready.eq(self.o.header.ready)", "notice.ready.eq(1)"),
    "no one returns unused": ("connect(m, flipped(self.i_unused), arbiter.i[1])", "pass"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "CreditReturn", changed(CreditReturn, *FAULTS[fault]))
    with pytest.raises(AssertionError):
        test_credits(random.Random(1), True)
