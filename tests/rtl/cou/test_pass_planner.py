"""The pass planner: a plan of any context, descriptor and packet is what the fields mean."""

import random
from collections import Counter

import pytest

from rtl.abi import DescriptorControl, PacketHeader
from rtl.cou.context_signatures import look_layout
from rtl.cou.pass_planner import PassPlanner, plan_layout, progress_layout, slice_layout
from rtl.cou.shapes import CouShapes, Select, Source
from rtl.cou.step import STEPS
from testbench.parts.faults import changed
from testbench.parts.inputs import Inputs, pack_all
from testbench.parts.plans import Situation, differences, draw, plan_of, unpack
from testbench.parts.simulation import run
from testbench.unit_config import TINY, UNIT

CONFIGS = {"narrow": TINY, "wide": UNIT.changed(datapath={"data_width": 256}, cou={"n_contexts": 16})}


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


@pytest.mark.parametrize("name", CONFIGS)
def test_plans(rng: random.Random, name: str) -> None:
    """The plan is there a cycle after its inputs, and stays as long as they do."""
    shapes = CouShapes(CONFIGS[name])
    part = PassPlanner(shapes=shapes)
    counts: Counter[object] = Counter()
    state = {"age": 0, "stays": 0}
    situation: Situation = draw(rng, shapes)

    def drive(put) -> None:
        nonlocal situation
        if state["age"] > state["stays"]:
            situation, state["age"], state["stays"] = draw(rng, shapes), 0, rng.choice((1, 1, 2))
        for port, shape in (("look", look_layout(shapes)), ("progress", progress_layout(shapes)),
                            ("slice", slice_layout(shapes)), ("desc", DescriptorControl),
                            ("operation", shapes.operation), ("packet", PacketHeader)):
            put(getattr(part, port).as_value(), pack_all(shape, getattr(situation, port)))
        for port in ("context", "expired", "status", "node_id"):
            put(getattr(part, port), getattr(situation, port))

    def settle(read) -> None:
        if state["age"] >= 1:
            wanted = plan_of(situation)
            found = unpack(plan_layout(shapes), read(part.plan.as_value()))
            assert not differences(found, wanted)
            if state["age"] == 1:
                counts.update(name for name in STEPS if wanted["step"][name])
                counts.update(name for name in ("fill", "unsure", "direct", "mismatch", "marked", "differs", "clears")
                              if wanted[name])
                counts.update([wanted["run"]["a"], ("select", wanted["run"]["select"])])
        state["age"] += 1

    run(part, [Inputs(drive, settle)], cycles=600, rng=rng)
    for kind in (*STEPS, "fill", "unsure", "direct", "mismatch", "marked", "differs", "clears",
                 *(source.value for source in Source), *(("select", select.value) for select in Select)):
        assert counts[kind] > 0, kind


FAULTS = {
    "terms that are not compared": ('"other_terms": differ(packet, self.operation.terms)', '"other_terms": 0'),
    "an operand of a pass in the middle": (
        "first & ~self.look.loaded & v.has_bytes", "~self.look.loaded & v.has_bytes",
    ),
    "a message in blocks that stays": ("in_operand & (~cut | v.final & self.operation.lazy)", "in_operand"),
    "the length of the whole message": ("Mux(v.brought, self.slice.size, operation.length)", "operation.length"),
    "a VP that is not swapped": ("Mux(desc.swap_local_vp & v.more, packet", "Mux(desc.swap_local_vp & v.final, packet"),
    "the first packet without an operand": ("swap | (first & (desc.operand == Operand.NONE))", "swap"),
    "an error that hides an earlier one": ("(self.status != Status.OK) | ~(v.marked", "~(v.marked"),
    "a packet of an ended operation": ("(self.look.sure | ~self.expired)", "1"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PassPlanner", changed(PassPlanner, *FAULTS[fault]))
    with pytest.raises(AssertionError):
        test_plans(random.Random(2), "wide")
