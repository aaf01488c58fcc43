"""The exchange of credits between two nodes, as a sequence diagram of a recorded run."""

from collections.abc import Sequence
from typing import Any

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sim.report.colours import AMBER, BLUE, GREEN, GREY, VIOLET
from sim.report.drawing import svg
from sim.walk.recording import Recording

_DATA, _SHARED, _CREDIT, _GRANT, _UNUSED = BLUE, VIOLET, GREEN, AMBER, GREY
_SENT, _RECEIVED = "transmit_{vc}.packetizer.i__header", "receive_{vc}.depacketizer.o__header"


def exchange(recording: Recording, cycles: Sequence[int]) -> list[dict[str, Any]]:
    """Collective packets from node 0 to node 1, and the CREDIT packets for them, in the order in which they left.

    Each is ``{"sent", "received"}`` in cycles after the first of `cycles`, with `pulse`, `shared` (it travels on a
    shared credit) and `asks` (its sender wants one) of a packet, or `credits` and `grants` (a shared credit) of an
    answer; without credits it returns a shared credit of node 0. One that has not arrived within `cycles` is left out.
    """
    rows = []
    for sender, vc, fields in ((0, 0, {"pulse": "pulse", "shared": "loan", "asks": "want"}),
                               (1, 1, {"credits": "credits", "grants": "loan"})):
        stream = _SENT.format(vc=vc)
        sent = recording.transfers(f"nic{sender}", stream, cycles).done
        received = recording.transfers(f"nic{1 - sender}", _RECEIVED.format(vc=vc), cycles).done
        read = {
            name: recording.values(f"nic{sender}", f"{stream}__payload.{field}", sent) for name, field in fields.items()
        }
        # A channel keeps its order, so the n-th that arrives is the n-th that left.
        for number, (out, back) in enumerate(zip(sent, received, strict=False)):
            rows.append({
                "from": sender, "sent": out - cycles[0], "received": back - cycles[0],
                **{name: values[number] for name, values in read.items()},
            })
    return sorted(rows, key=lambda row: row["sent"])


def credits_svg(rows: Sequence[dict[str, Any]]) -> str:
    """Packets and answers between node 0, left, and node 1, right, time downwards; beside them what is outstanding."""
    begin, last = rows[0]["sent"], max(row["received"] for row in rows)
    figure = Figure(figsize=(9, 9.5), layout="constrained")
    FigureCanvasSVG(figure)
    count, axes = figure.subplots(1, 2, sharey=True, width_ratios=(1, 3.2))
    for row in rows:
        out, back = row["sent"] - begin, row["received"] - begin
        if row["from"] == 0:
            colour, label = _SHARED if row["shared"] else _DATA, f"pulse {row['pulse']}" + ", asks" * row["asks"]
        elif row["credits"]:
            colour, label = _GRANT if row["grants"] else _CREDIT, ""
        else:
            colour, label = _UNUSED, ""
        ends = (0, 1) if row["from"] == 0 else (1, 0)
        axes.annotate("", xy=(ends[1], back), xytext=(ends[0], out), arrowprops={
            "arrowstyle": "-|>", "color": colour, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0,
        })
        if label:
            axes.text(0.03, out - 3, label, fontsize=7.5, color=colour, va="bottom")
    axes.set_xticks([0, 1], ["node 0 sends", "node 1 receives"])
    axes.set_xlim(-0.02, 1.02)
    axes.xaxis.tick_top()
    for x in (0, 1):
        axes.axvline(x, color=GREY, linewidth=1)
    _outstanding(count, rows, begin)
    count.set_ylim(last - begin + 5, -12)
    for one in (axes, count):
        for side in ("top", "right", "left", "bottom"):
            one.spines[side].set_visible(False)
        one.tick_params(length=0)
    figure.legend(handles=[
        Line2D([], [], color=_DATA, label="packet on a guaranteed credit"),
        Line2D([], [], color=_SHARED, label="packet on a shared credit"),
        Line2D([], [], color=_CREDIT, label="credit returns"),
        Line2D([], [], color=_GRANT, label="credit returns, shared credit granted"),
        Line2D([], [], color=_UNUSED, label="node 1 returns a shared credit unused"),
    ], loc="outside lower center", ncols=2, frameon=False, fontsize=8.5)
    return svg(figure) + "\n"


def outstanding(rows: Sequence[dict[str, Any]]) -> list[tuple[int, int]]:
    """Packets that have left node 0 and whose answer has not come back, from each cycle on in which that changes.

    Examples
    --------
    >>> outstanding([{"from": 0, "sent": 3, "received": 9}, {"from": 1, "sent": 12, "received": 18, "credits": 1}])
    [(3, 1), (18, 0)]
    """
    changes = sorted(
        (row["sent"], 1) if row["from"] == 0 else (row["received"], -row["credits"]) for row in rows
    )
    level, levels = 0, []
    for cycle, change in changes:
        level += change
        levels.append((cycle, level))
    return levels


def _outstanding(axes: Any, rows: Sequence[dict[str, Any]], begin: int) -> None:
    levels = [(0, 0), *((cycle - begin, level) for cycle, level in outstanding(rows))]
    axes.step([level for _, level in levels], [cycle for cycle, _ in levels], where="pre", color=GREY)
    axes.set_xlabel("packets without answer", fontsize=9)
    axes.xaxis.set_label_position("top")
    axes.xaxis.tick_top()
    axes.set_xticks(range(max(level for _, level in levels) + 1))
    axes.set_ylabel("cycles after the first packet")
