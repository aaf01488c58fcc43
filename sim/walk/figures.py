"""Figures of ``docs/walk.md``: measured on the RTL, then drawn from the measurement."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from firmware_models.config import load_preset
from rtl.cou.act_stage import ActStage
from rtl.cou.shapes import CouShapes
from rtl.credit.credit_table import CreditTable
from rtl.queue.scheduler import Scheduler
from sim.cluster import Waves
from sim.cluster.activities import WAITS
from sim.collective import CollectiveRequest, CollectiveResult, run_collective
from sim.report.timeline import timeline_svg
from sim.walk.credits import credits_svg, exchange
from sim.walk.recording import Recording
from sim.walk.stages import DESCRIPTOR, PACKET, times
from sim.walk.states import state_names, states_svg, visits
from sim.walk.timing import diagrams, timing_svg, wave_json

PRESET = "small"
SMALL = {"collective": "allreduce", "algorithm": "recursive-doubling", "nodes": 2, "size": 64}
"""One packet each way: the walk."""
LARGE = {**SMALL, "size": 16_384}
"""Eight pulses: credits."""
BUSY = {"collective": "allreduce", "algorithm": "ring", "nodes": 2, "size": 1_024, "jobs": 8}
"""Many operations at once: states."""
TIMELINE = {"collective": "allreduce", "algorithm": "rabenseifner", "nodes": 4, "size": 4_096}
"""Operation that the README shows."""


def request(values: dict[str, Any]) -> CollectiveRequest:
    """One of the operations above."""
    return CollectiveRequest(**values, config=load_preset(PRESET), preset=PRESET)


def span(result: CollectiveResult) -> range:
    """Cycles from the first doorbell's write on the register bus to the last completion in host memory."""
    doorbell = min(event.begin for event in result.events if event.name == "doorbell")
    completion = max(event.end for event in result.events if event.name == "completion")
    # The host's model writes a cycle after the event.
    return range(doorbell + 1, completion + 1)


def measure(folder: Path) -> dict[str, Any]:
    """Runs the operations, with waveforms in `folder`, and reads them.

    Returns
    -------
    dict
        `descriptor`, `packet`: stages with cycles. `timing`: WaveJSON by picture. `credits`: packets and answers.
        `states`: machines by picture. `cycles`: of the walk, from doorbell to completion.
    """
    config = load_preset(PRESET)
    act = state_names(ActStage(shapes=CouShapes(config)))
    table = state_names(CreditTable(
        formats=config.formats, n_peers=config.cou.n_peers, peer_credits=config.cou.peer_credits,
        shares=config.pool_packets > 0,
    ))
    scheduler = state_names(Scheduler(n_cous=config.nic.n_cous, sequence_depth=config.cou.sequence_depth))

    small = run_collective(request(SMALL), waves=Waves(path=folder / "walk.fst"))
    recording, cycles = Recording(folder / "walk.fst"), span(small)
    found = {
        "preset": PRESET, "small": SMALL, "large": LARGE, "busy": BUSY, "cycles": len(cycles),
        "descriptor": times(recording, DESCRIPTOR, cycles), "packet": times(recording, PACKET, cycles),
        "timing": {
            name: wave_json(recording, diagram, cycles[0]) for name, diagram in diagrams(act, scheduler).items()
        },
    }
    large = run_collective(request(LARGE), waves=Waves(path=folder / "large.fst"))
    found["credits"] = exchange(Recording(folder / "large.fst"), span(large))
    many = run_collective(request(BUSY), waves=Waves(path=folder / "busy.fst"))
    busy, cycles = Recording(folder / "busy.fst"), span(many)
    return found | {
        "states": {
            "walk_scheduler": visits(busy.values("nic0", "descriptor_queue.scheduler.fsm_state", cycles), scheduler),
            "walk_credit_table": visits(busy.values("nic0", "cou_0.credit_table.fsm_state", cycles), table),
        },
    }


def pictures(found: dict[str, Any]) -> dict[str, Callable[[], str]]:
    """Functions that draw each picture from the result of :func:`measure`, by the stem of its file."""
    return {
        **{name: partial(timing_svg, wave) for name, wave in found["timing"].items()},
        **{name: partial(states_svg, machine) for name, machine in found["states"].items()},
        "walk_credits": partial(credits_svg, found["credits"]),
    }


def timeline() -> str:
    """The README's picture: what each node does in an allreduce over four nodes."""
    result = run_collective(request(TIMELINE))
    return timeline_svg(result.events, without=("credit packet", "pulse", *WAITS)) + "\n"
