"""`conic bench`: one unit, or a simulator, against the figures that it must reach."""

import click

from sim.cli.command.bench_builds import builds
from sim.cli.command.bench_congestion import congestion
from sim.cli.command.bench_latency import latency
from sim.cli.command.bench_osu import osu
from sim.cli.command.bench_scale import scale
from sim.cli.command.bench_simulator import simulator
from sim.cli.command.bench_switch import switch
from sim.cli.command.bench_throughput import throughput
from sim.cli.shared.example import example


@click.group("bench", epilog=example("conic bench switch --json"))
def command() -> None:
    """Measures one unit on the RTL, or a simulator; each takes --json."""


command.add_command(builds)
command.add_command(congestion)
command.add_command(latency)
command.add_command(osu)
command.add_command(scale)
command.add_command(simulator)
command.add_command(switch)
command.add_command(throughput)
