"""One order of the study of reproducibility: an operation among others, under random delays, and its hash."""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from firmware_models.config import Config, load_preset
from firmware_models.golden import sha256
from firmware_models.schedule import build, largest_pulse
from sim.cluster import Cluster, Execution, build_library
from sim.cluster.stalls import random_stalls
from sim.operation.request import CollectiveRequest
from sim.operation.session import CollectiveError, Posted, Session
from sim.process.run import memory_needed, memory_timing

Row = dict[str, Any]
CASES = (
    ("allreduce", "recursive-doubling"), ("allreduce", "rabenseifner"), ("allreduce", "ring"),
    ("reduce", "rabenseifner"),
)
"""Operations that are carried out again and again, on the same data."""
_OTHERS = (
    *CASES, ("reduce", "binomial"), ("broadcast", "binomial"), ("broadcast", "double-binary-tree"),
    ("barrier", "dissemination"), ("allgather", "ring"), ("reduce-scatter", "pairwise"), ("alltoall", "pairwise"),
    ("scan", "distance-doubling"),
)
"""Operations of other jobs meanwhile."""
_BYTES = 4096
_OTHERS_MOST_BYTES = 2048
_MOST_OTHERS = 7
_MOST_CYCLES = 20_000_000


def request_of(config: Config, preset: str, collective: str, algorithm: str, nodes: int) -> CollectiveRequest:
    """Request that all orders of a case share: the operation and its data."""
    return CollectiveRequest(
        collective=collective, algorithm=algorithm, nodes=nodes, size=_BYTES, config=config, preset=preset, seed=0,
    )


def measure(preset: str, collective: str, algorithm: str, nodes: int, seed: int) -> Row:
    """The operation under what is drawn from `seed`: delays, pulse size, start of each process, and other jobs."""
    begin = time.monotonic()
    rng = random.Random(f"{collective} {algorithm} {seed}")
    request = request_of(load_preset(preset), preset, collective, algorithm, nodes)
    request = replace(request, pulse_bytes=_pulse(rng, request), stalls=random_stalls(rng.getrandbits(32)))
    # The operation is job 0, whose data are the same whatever runs beside it.
    mix = [request, *_others(rng, request)]
    cycles, digest, wrong = _run(mix, rng, seed)
    return {
        "sha256": digest, "mismatched_bits": wrong[0], "others_mismatched_bits": sum(wrong[1:]), "cycles": cycles,
        "pulse_bytes": request.pulse_bytes, "stalls": asdict(request.stalls),
        "others": [f"{other.collective} {other.algorithm} {other.size}" for other in mix[1:]],
        "seconds": round(time.monotonic() - begin, 2),
    }


def _pulse(rng: random.Random, request: CollectiveRequest) -> int:
    step = 64 if request.schedule.block_count == 1 else 16
    return step * rng.randint(1, largest_pulse(request.schedule, request.config) // step)


def _others(rng: random.Random, request: CollectiveRequest) -> Iterator[CollectiveRequest]:
    """Other operations on other data; as many as there may be jobs at most."""
    config = request.config
    most = min(_MOST_OTHERS, config.nic.n_cous * config.cou.n_jobs - 1, config.nic.n_vps - 1)
    for _ in range(rng.randint(0, most)):
        collective, algorithm = rng.choice(_OTHERS)
        schedule = build(collective, algorithm, n_nodes=request.nodes)
        whole = 8 * schedule.block_count
        size = whole * rng.randint(1, max(1, _OTHERS_MOST_BYTES // whole)) if schedule.moves_data else 0
        other = replace(request, collective=collective, algorithm=algorithm, size=size, pulse_bytes=None,
                        seed=rng.getrandbits(32))
        yield replace(other, pulse_bytes=_pulse(rng, other)) if schedule.moves_data else other


def _run(mix: Sequence[CollectiveRequest], rng: random.Random, seed: int) -> tuple[int, str, list[int]]:
    """Cycles until all jobs of a mix have ended, the hash of the first one's results, and wrong bits of each."""
    request = mix[0]
    with Cluster(
        build_library(request.hardware()), request.wired, memory_bytes=sum(map(memory_needed, mix)),
        memory=memory_timing(request), links=request.stalls.links, seed=seed + 1, execution=Execution(threads=1),
    ) as cluster:
        session = Session(cluster, request.config, nodes=request.nodes)
        posted = [session.post(each, job) for job, each in enumerate(mix)]
        session.configure()
        session.warm_up()
        begin = cluster.cycle
        session.ring(posted, not_before=lambda: begin + rng.randint(0, request.stalls.start_skew))
        if not session.wait(_MOST_CYCLES):
            raise CollectiveError(session.hang(f"order {seed} of {request.collective}", posted))
        for completion in session.completions(posted):
            assert completion.tag < len(mix), "the completion is nobody's"
        return cluster.settled_cycle - begin, *_compared(session, mix, posted)


def _compared(session: Session, mix: Sequence[CollectiveRequest], posted: Sequence[Posted]) -> tuple[str, list[int]]:
    compared = [session.compare(each, [job]) for each, job in zip(mix, posted, strict=True)]
    return sha256(compared[0][0][0]), [wrong for _, wrong in compared]
