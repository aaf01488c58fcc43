"""Timing diagrams: parts of a recorded run as WaveJSON, which WaveDrom's Python port draws."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import wavedrom

from sim.walk.recording import Recording


@dataclass(frozen=True)
class Row:
    """A line of a diagram.

    Members
    -------
    name : str
        What stands before it.
    signal : str
        Path in the NIC: a stream, a pulse, or a register if `states` is given.
    states : tuple of str
        Names of the values of a register: the line then shows the state.
    node : int
        Whose NIC.
    """

    name: str
    signal: str
    states: tuple[str, ...] = ()
    node: int = 0


@dataclass(frozen=True)
class Diagram:
    """A part of a run: rows, from cycle `first` to cycle `last` after the doorbell."""

    title: str
    first: int
    last: int
    rows: tuple[Row, ...]


def diagrams(act: Sequence[str], scheduler: Sequence[str]) -> dict[str, Diagram]:
    """The diagrams of the page, by the stems of their files.

    Parameters
    ----------
    act, scheduler : sequence of str
        States of the last stage of the trigger and of the scheduler, in the order of their numbers.
    """
    acting = Row("act_stage state", "cou_0.trigger.acting.fsm_state", tuple(act))
    return {
        "walk_doorbell": Diagram("From the doorbell to the address of the descriptor", 0, 12, (
            Row("s_axil.w", "s_axil__w"), Row("csr.doorbell", "csr.vps__doorbell"),
            Row("descriptor_queue.turn", "descriptor_queue.turn__offer"),
            Row("scheduler state", "descriptor_queue.scheduler.fsm_state", tuple(scheduler)),
            Row("scheduler.fetch", "descriptor_queue.scheduler.fetch"),
            Row("fetch.read.request", "descriptor_queue.read__request"), Row("m_axi.ar", "m_axi__ar"),
        )),
        "walk_handover": Diagram("A sequence is handed to its offload unit", 42, 58, (
            Row("m_axi.r", "m_axi__r"), Row("fetch.read.data", "descriptor_queue.read__data"),
            Row("scheduler state", "descriptor_queue.scheduler.fsm_state", tuple(scheduler)),
            Row("job_table.sequence.query", "job_table.sequence__query"),
            Row("job_table.sequence.answer", "job_table.sequence__answer"),
            Row("cou[0].probe", "descriptor_queue.cou__0__probe"),
            Row("cou[0].answer", "descriptor_queue.cou__0__answer"),
            Row("cou[0].descriptor", "descriptor_queue.cou__0__descriptor"),
        )),
        "walk_fire": Diagram("From the pulse to the first flit", 73, 89, (
            Row("trigger.i_start", "cou_0.trigger.i_start"), Row("planning.i", "cou_0.trigger.planning.i"),
            Row("planning.o", "cou_0.trigger.planning.o"), acting,
            Row("operand load", "cou_0.trigger.operands__load__request"),
            Row("credit request", "cou_0.trigger.credits__ask__request"),
            Row("credit answer", "cou_0.trigger.credits__ask__answer"),
            Row("trigger.fired", "cou_0.trigger.fired"), Row("tx[0].header", "cou_0.tx__0__header"),
            Row("link tx", "tx__"),
        )),
        "walk_wake": Diagram("From the packet to the sum", 117, 139, (
            Row("buffer.i.header", "cou_0.buffer.i__header", node=1),
            Row("buffer.i.payload", "cou_0.buffer.i__payload", node=1),
            Row("packet event", "cou_0.buffer.packets__arrival", node=1),
            Row("planning.i", "cou_0.trigger.planning.i", node=1),
            Row("planning.o", "cou_0.trigger.planning.o", node=1), Row("trigger.fired", "cou_0.trigger.fired", node=1),
            Row("buffer.i_read", "cou_0.buffer.i_read", node=1), Row("buffer.o_read", "cou_0.buffer.o_read", node=1),
            Row("reduce.i", "cou_0.aggregator.reduce.i", node=1), Row("reduce.o", "cou_0.aggregator.reduce.o", node=1),
            Row("tx[1].header", "cou_0.tx__1__header", node=1),
        )),
    }


def wave_json(recording: Recording, diagram: Diagram, doorbell: int) -> dict[str, Any]:
    """`diagram` as WaveDrom reads it."""
    cycles = range(doorbell + diagram.first, doorbell + diagram.last + 1)
    signals: list[dict[str, Any]] = [{"name": "clk", "wave": "p" + "." * (len(cycles) - 1)}]
    for row in diagram.rows:
        if row.states:
            values = recording.values(f"nic{row.node}", row.signal, cycles)
            signals.append(_boxes(row.name, values, {k: ("5", name.lower()) for k, name in enumerate(row.states)}))
            continue
        found = recording.transfers(f"nic{row.node}", row.signal, cycles)
        kinds = [1 if cycle in found.done else 2 if cycle in found.stalled else 0 for cycle in cycles]
        signals.append(_boxes(row.name, kinds, {0: ("0", ""), 1: ("3", ""), 2: ("4", "stalls")}))
    return {
        "signal": signals, "head": {"text": diagram.title, "tick": diagram.first},
        "foot": {"text": f"cycles after the doorbell; node {diagram.rows[0].node}"}, "config": {"hscale": 1},
    }


def _boxes(name: str, values: Sequence[int], shown: dict[int, tuple[str, str]]) -> dict[str, Any]:
    """A line that shows each run of equal values as `shown` says: WaveDrom's letter, and a label.

    Boxes of transfers have no label of their own: it says how many items passed.

    Examples
    --------
    >>> _boxes("o", [0, 1, 1, 0], {0: ("0", ""), 1: ("3", "")})
    {'name': 'o', 'wave': '03.0', 'data': ['2 items']}
    """
    wave, labels = "", []
    for value, group in groupby(values):
        count = len(list(group))
        letter, label = shown[value]
        wave += letter + "." * (count - 1)
        if letter != "0":
            labels.append(label or ("item" if count == 1 else f"{count} items"))
    return {"name": name, "wave": wave} | ({"data": labels} if labels else {})


def timing_svg(wave: dict[str, Any]) -> str:
    """The diagram as an SVG file, without the shapes of the package that it does not use."""
    text = str(wavedrom.render(json.dumps(wave)).tostring())
    used = set(re.findall(r'xlink:href="#([^"]+)"', text))
    shapes, rest = text.split("</defs>", 1)
    shapes = re.sub(
        r'<g id="([^"]+)">.*?</g>', lambda shape: shape[0] if shape[1] in used else "", shapes, flags=re.DOTALL
    )
    text = f"{shapes}</defs>{rest}"
    return text.replace("Helvetica", "Helvetica, Arial, sans-serif") + "\n"
