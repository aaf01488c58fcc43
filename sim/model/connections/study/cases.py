"""Cases of the study of connection memory, computed and run."""

from dataclasses import dataclass, field

from firmware_models.connections import Policy, Scheme
from firmware_models.schedule import algorithm_names, collective_names

PARTS = ("paper", "scale", "groups", "runs", "schedules")
"""Parts of the study."""

CORES = 4
"""Cores of a node in the paper's section 4.2, and so in plots by processes."""

MACHINES = ((8_192, 4), (16_384, 4), (320_000, 4), (1_000_000, 4), (1_000_000, 16), (1_000_000, 64), (10_000_000, 64))
"""Processes and cores of the machines that a group size is sought for."""

POLICIES = {
    "connect": Policy(),
    "tear down": Policy(idle_phases=0),
    "at most 8": Policy(max_dynamic=8),
    "proxy 2": Policy(proxy_messages=2),
    "proxy": Policy(proxy_messages=None),
}
"""Ways to deal with processes that are not connected, by the name that tables have for them."""


@dataclass(frozen=True)
class Case:
    """A trace under a scheme; `policies` names the ways to run it. Group size None: the best one by static memory."""

    trace: str
    processes: int
    cores: int
    group_size: int | None
    scheme: Scheme = Scheme.GROUP_XRC
    policies: tuple[str, ...] = field(default=("connect",))


FULL = [
    Case("stencil:100x100x100,repeat=3", 1_000_000, 4, 4096, policies=("connect", "proxy")),
    Case("stencil:100x100x100,repeat=3", 1_000_000, 4, None, policies=("connect", "proxy")),
    Case("stencil:100x100x100,repeat=3", 1_000_000, 4, 20_000),
    Case("stencil:100x100x100,repeat=3", 1_000_000, 4, None, scheme=Scheme.GROUP),
    Case("stencil:100x100x100,shape=box", 1_000_000, 4, 4096),
    Case("random:rounds=3,seed=1", 1_000_000, 4, 4096, policies=("connect", "tear down", "proxy")),
    Case("random:rounds=3,seed=1", 1_000_000, 4, None),
    Case("alltoall:128x64", 8_192, 4, 4096, policies=("connect", "tear down", "at most 8", "proxy 2", "proxy")),
    Case("alltoall,bytes=1024", 8_192, 4, 4096, policies=("connect", "tear down", "proxy")),
    Case("schedule:allreduce/recursive-doubling", 8_192, 4, 4096),
    Case("schedule:barrier/dissemination", 8_192, 4, None),
]
QUICK = [
    Case("stencil:16x16x16,repeat=3", 4096, 4, 256, policies=("connect", "proxy")),
    Case("stencil:16x16x16,repeat=3", 4096, 4, None, scheme=Scheme.GROUP),
    Case("random:rounds=3,seed=1", 4096, 4, None, policies=("connect", "tear down")),
    Case("alltoall:16x16", 256, 4, 32, policies=tuple(POLICIES)),
]


def schedule_cases(n_processes: int) -> list[Case]:
    """Every schedule of this project, with the best group size."""
    return [
        Case(f"schedule:{which}/{algorithm}", n_processes, CORES, None)
        for which in collective_names() for algorithm in algorithm_names(which)
    ]
