"""The message diagram of a schedule: a lifeline for every rank, an arrow for every packet."""

from collections import defaultdict
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from firmware_models.abi.formats import SEQ_BITS
from firmware_models.schedule import Combine, Schedule
from firmware_models.schedule.sequence import Packet

MAX_RANKS = 64
"""More lifelines than that cannot be told apart."""

_COLOURS = {Combine.REDUCE: "tab:blue", Combine.REPLACE: "tab:green", Combine.TRIGGER: "tab:gray"}
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
    """Draws `schedule` to an SVG or PNG file; every arrow bears the SeqID of its packet, and its blocks if it has some.

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
    # Fixed ids and no date: the same schedule gives the same file. Text stays text, so that it can be searched.
    with rc_context({"svg.hashsalt": "conic", "svg.fonttype": "none"}):
        figure = Figure(figsize=(1.6 + 1.3 * schedule.n_nodes, 1.6 + 0.9 * end), layout="constrained")
        axes = figure.subplots()
        axes.vlines(range(schedule.n_nodes), -0.2, end + 0.2, color="lightgray", zorder=0)
        for packet, time in times.items():
            combine = Combine.TRIGGER if packet.index is None else combines[packet.receiver][packet.index]
            axes.annotate(
                "", xy=(packet.receiver, time + 1), xytext=(packet.sender, time),
                arrowprops={"arrowstyle": "-|>", "color": _COLOURS[combine], "shrinkA": 0, "shrinkB": 0},
            )
            share = 0.22  # near its sender: arrows that cross keep their labels apart
            axes.text(
                packet.sender + share * (packet.receiver - packet.sender), time + share, _label(schedule, packet),
                fontsize=7, ha="center", va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.85},
            )
        used = {combine for found in combines for combine in found.values()}
        for combine, colour in _COLOURS.items():
            if combine in used:
                axes.plot([], [], color=colour, label=_WORDS[combine])
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small", frameon=False)
        axes.set_xticks(range(schedule.n_nodes), [f"node {rank}" for rank in range(schedule.n_nodes)])
        axes.xaxis.tick_top()
        axes.set_ylim(end + 0.3, -0.3)
        axes.set_xlim(-0.5, schedule.n_nodes - 0.5)
        axes.set_ylabel("packets one after the other")
        axes.set_title(f"{schedule.collective}, {schedule.algorithm}, {schedule.n_nodes} nodes")
        for side in ("right", "bottom", "left"):
            axes.spines[side].set_visible(False)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _label(schedule: Schedule, packet: Packet) -> str:
    seq_id = "?" if packet.index is None else str(packet.index % (1 << SEQ_BITS))
    first, count = schedule.sequences[packet.sender][packet.step].blocks
    if not count:
        return seq_id
    if first == schedule.block_count:
        return f"{seq_id}: empty"
    return f"{seq_id}: block{'s' * (count > 1)} {first}" + f" to {first + count - 1}" * (count > 1)
