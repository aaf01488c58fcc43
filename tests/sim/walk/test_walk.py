"""The walk of ``docs/walk.md`` is that of the RTL, and its pictures are drawn from it."""

import json
from pathlib import Path
from typing import Any

import pytest

from firmware_models.config import Config
from rtl.cou.act_stage import ActStage
from rtl.cou.shapes import CouShapes
from sim.collective import run_collective
from sim.walk.figures import SMALL, measure, pictures, request, span, timeline
from sim.walk.states import state_names

FIGURES = Path(__file__).resolve().parents[3] / "docs" / "figures"
WALK: dict[str, Any] = json.loads((FIGURES / "walk.json").read_text())
AGAIN = "run `python -m sim.walk docs/figures` and `make docs`"


def stage(part: str, stream: str, number: int = 0) -> dict[str, Any]:
    """A stage of the walk."""
    return [row for row in WALK[part] if row["stream"] == stream][number]


@pytest.mark.parametrize("name", pictures(WALK))
def test_picture_is_fresh(name: str) -> None:
    assert (FIGURES / f"{name}.svg").read_text() == pictures(WALK)[name](), f"{name}.svg: {AGAIN}"


def test_no_stray_pictures() -> None:
    assert {path.stem for path in FIGURES.glob("walk_*")} == set(pictures(WALK))


def test_cycles_are_those_of_the_hardware() -> None:
    """Cycles that a run without a waveform reports agree with the stages that were read from one."""
    result = run_collective(request(SMALL))
    cycles = span(result)
    assert len(cycles) == WALK["cycles"], AGAIN
    sent = min(event.begin for event in result.events if (event.node, event.lane) == (0, "tx"))
    received = min(event.begin for event in result.events if (event.node, event.lane) == (1, "rx"))
    assert sent - cycles[0] == stage("packet", "tx")["first"], AGAIN
    assert received - cycles[0] == stage("packet", "rx")["first"], AGAIN
    assert stage("descriptor", "m_axi.w", 1)["last"] == len(cycles) - 1, AGAIN


def test_stages_follow_each_other() -> None:
    """An answer comes behind its question, and the doorbell before all."""
    for part in ("descriptor", "packet"):
        assert all(row["first"] <= row["last"] for row in WALK[part])
        assert min(row["first"] for row in WALK[part]) == WALK[part][0]["first"]
    for question, answer in (("job_table.sequence.query", "job_table.sequence.answer"),
                             ("cou_0.trigger.packets.lookup.request", "cou_0.buffer.packets.lookup.answer")):
        assert stage("descriptor", question)["first"] < stage("descriptor", answer)["first"]
    assert stage("packet", "cou_0.buffer.packets.arrival")["first"] < stage("packet", "cou_0.trigger.fired")["first"]


def test_names_of_states(small: Config) -> None:
    assert state_names(ActStage(shapes=CouShapes(small)))[0] == "ACT"


def test_timeline_is_fresh() -> None:
    assert (FIGURES / "allreduce_timeline.svg").read_text() == timeline(), AGAIN


@pytest.mark.long
def test_walk_is_fresh(tmp_path: Path) -> None:
    """The same cycles and waves again; long, for waveforms need a build of their own."""
    assert json.loads(json.dumps(measure(tmp_path))) == WALK, AGAIN
