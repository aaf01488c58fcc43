"""The message diagram of a schedule: a lifeline for every rank, an arrow for every packet."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from firmware_models.abi.formats import SEQ_BITS
from firmware_models.schedule import Combine, Schedule
from firmware_models.schedule.sequence import Packet
from sim.report.colours import COLOURS, PALE
from sim.report.drawing import save

MAX_RANKS = 64
"""More lifelines than that cannot be distinguished."""

MAX_LABELS = 300
"""More labels than that cover each other."""

_MOST_INCHES = 20
"""Of a side: 2,000 pixels."""

_NAMES = 16
"""Nodes that can be named in full above a diagram."""

_WORDS = {Combine.REDUCE: "reduced", Combine.REPLACE: "replaces", Combine.TRIGGER: "triggers only"}


def send_times(schedule: Schedule) -> dict[Packet, int]:
    """When each packet leaves if all of them take one unit of time and nothing else takes any.

    Raises
    ------
    ValueError
        If some step waits for ever.
    """
    arrivals: dict[tuple[int, int | None], int] = {}
    times: dict[Packet, int] = {}
    sent_in: dict[tuple[int, int], list[Packet]] = defaultdict(list)
    for packet in schedule.packets():
        sent_in[packet.sender, packet.step].append(packet)
    clock, step, consumed = ([0] * schedule.n_nodes for _ in range(3))
    numbers = [schedule.numbers(rank) for rank in range(schedule.n_nodes)]
    moved = True
    while moved:
        moved = False
        for rank, sequence in enumerate(schedule.sequences):
            while step[rank] < len(sequence):
                end = consumed[rank] + len(sequence[step[rank]].receive_from)
                wanted = numbers[rank][consumed[rank]:end]
                if any((rank, index) not in arrivals for index in wanted):
                    break
                clock[rank] = max([clock[rank], *(arrivals[rank, index] for index in wanted)])
                for packet in sent_in[rank, step[rank]]:
                    times[packet] = clock[rank]
                    arrivals[packet.receiver, packet.index] = clock[rank] + 1
                consumed[rank] += len(wanted)
                step[rank] += 1
                moved = True
    if waiting := [rank for rank, sequence in enumerate(schedule.sequences) if step[rank] < len(sequence)]:
        raise ValueError(f"ranks {', '.join(map(str, waiting))} wait for packets that never come")
    return times


def draw_messages(schedule: Schedule, path: Path) -> None:
    """Draws `schedule` to an SVG or PNG file.

    Every arrow bears the SeqID of its packet, and its blocks if it has some, as long as that can be read: beyond
    :data:`MAX_LABELS` packets arrows stand alone. A picture has about the width of a screen, however many ranks.

    Raises
    ------
    ValueError
        If there are more than :data:`MAX_RANKS` ranks, or some step waits for ever.
    """
    if schedule.n_nodes > MAX_RANKS:
        raise ValueError(f"a diagram can have at most {MAX_RANKS} nodes, not {schedule.n_nodes}")
    times = send_times(schedule)
    end = 1 + max(times.values(), default=0)
    combines = [
        dict(zip(
            schedule.numbers(rank), (step.combine for step in sequence for _ in step.receive_from), strict=True,
        )) for rank, sequence in enumerate(schedule.sequences)
    ]
    is_dense = len(times) > MAX_LABELS
    width = min(_MOST_INCHES, 1.6 + 1.3 * schedule.n_nodes)
    figure = Figure(figsize=(width, min(_MOST_INCHES, 1.8 + (0.9, 0.5)[is_dense] * end)), layout="constrained")
    axes = figure.subplots()
    axes.vlines(range(schedule.n_nodes), -0.2, end + 0.2, color=PALE, zorder=0, linewidth=0.6 if is_dense else 1.2)
    used, used_by = {}, {}
    for packet, time in times.items():
        combine = Combine.TRIGGER if packet.index is None else combines[packet.receiver][packet.index]
        used[_WORDS[combine]] = used_by[packet] = colour = COLOURS[_WORDS[combine]]
        if not is_dense:
            axes.annotate("", xy=(packet.receiver, time + 1), xytext=(packet.sender, time), arrowprops={
                "arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0,
            })
            share = 0.22  # near its sender: arrows that cross keep their labels apart
            axes.text(
                packet.sender + share * (packet.receiver - packet.sender), time + share, _label(schedule, packet),
                fontsize=7, ha="center", va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.85},
            )
    if is_dense:
        _arrows(axes, times, [used_by[packet] for packet in times])
    _frame(figure, axes, schedule, used, end)
    what = f"{schedule.collective}, {schedule.algorithm}, {schedule.n_nodes} nodes"
    axes.set_title(f"{what}: {len(times):,} packets, {end} one after the other", fontsize=11)
    save(figure, path)


def _arrows(axes: Axes, times: Mapping[Packet, int], colours: Sequence[str]) -> None:
    """Thin arrows, all at once: thousands of single ones take a minute."""
    axes.quiver(
        [packet.sender for packet in times], list(times.values()),
        [packet.receiver - packet.sender for packet in times], [1] * len(times), color=colours, angles="xy",
        scale_units="xy", scale=1, units="inches", width=0.008, headwidth=6, headlength=8, headaxislength=8,
    )


def _frame(figure: Figure, axes: Axes, schedule: Schedule, used: Mapping[str, str], end: int) -> None:
    """Axes and legend: nodes above, as many of their names as there is room for, time downwards."""
    for word, colour in used.items():
        axes.plot([], [], color=colour, label=word)
    figure.legend(loc="outside lower center", ncols=len(used) or 1, fontsize="small", frameon=False)
    step = -(-schedule.n_nodes // _NAMES)
    named = range(0, schedule.n_nodes, step)
    axes.set_xticks(named, [f"node {rank}" if step == 1 else str(rank) for rank in named])
    axes.xaxis.tick_top()
    axes.set_ylim(end + 0.3, -0.3)
    axes.set_xlim(-0.5, schedule.n_nodes - 0.5)
    axes.set_yticks(range(0, end + 1, -(-end // 12)))
    axes.set_ylabel("packets one after the other")
    if step > 1:
        axes.set_xlabel("node")
        axes.xaxis.set_label_position("top")
    for side in ("right", "bottom", "left"):
        axes.spines[side].set_visible(False)


def _label(schedule: Schedule, packet: Packet) -> str:
    seq_id = "?" if packet.index is None else str(packet.index % (1 << SEQ_BITS))
    first, count = schedule.sequences[packet.sender][packet.step].blocks
    if not count:
        return seq_id
    if first == schedule.block_count:
        return f"{seq_id}: empty"
    return f"{seq_id}: block{'s' * (count > 1)} {first}" + f" to {first + count - 1}" * (count > 1)
