"""Episode after episode, until so many operations have been carried out."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from firmware_models.config import Config
from sim.cluster import RegisterAccessError, SimulationFaultError, Waves, build_library, side_by_side
from sim.environment.threads import wanted_threads
from sim.report.progress import ProgressCallback
from sim.soak.episode import Coverage, Episode, SoakError

EPISODE_OPERATIONS = 50
"""Operations of an episode."""
_MOST_EPISODES_AT_ONCE = 8


def soak(
    config: Config, *, operations: int, nodes: int, seed: int, episode: int | None = None, waves: Path | None = None,
    progress: ProgressCallback | None = None,
) -> Coverage:
    """Carries out `operations` random operations on `nodes` nodes; returns what was covered.

    Parameters
    ----------
    config : Config
        The hardware.
    operations, nodes : int
        How many; the last episode may end early.
    seed : int
        Of everything: episode i of a seed is always the same, whatever `operations` is.
    episode : int, optional
        Only this one, as it is among so many operations.
    waves : Path, optional
        Waveform, of one episode only.
    progress : callable, optional
        Called with the progress.

    Raises
    ------
    SoakError
        If something goes wrong; the message says how to repeat it.
    """
    library = build_library(config, waves=waves is not None, progress=progress)
    say = progress or (lambda _stage, _done, _total: None)
    carry_out = partial(_episode, library, config, operations=operations, nodes=nodes, seed=seed)
    covered = Coverage()
    if episode is not None:
        covered.add(carry_out(episode, waves=None if waves is None else Waves(path=waves)))
        return covered
    episodes = range(-(-operations // EPISODE_OPERATIONS))
    say("operations", 0, operations)
    for number, coverage in enumerate(_side_by_side(library, config, episodes, operations, nodes, seed)):
        covered.add(coverage)
        say("operations", min(operations, (number + 1) * EPISODE_OPERATIONS), operations)
    return covered


def _side_by_side(
    library: Path, config: Config, episodes: range, operations: int, nodes: int, seed: int
) -> Iterator[Coverage]:
    """Yields the coverage of episodes, in their order: processes take some after the other, several in the lanes of a
    word."""
    n_processes = min(wanted_threads() or len(os.sched_getaffinity(0)), len(episodes))
    size = min(_MOST_EPISODES_AT_ONCE, -(-len(episodes) // n_processes))
    shares = [episodes[first:first + size] for first in range(0, len(episodes), size)]
    some = partial(_episodes, library, config, operations=operations, nodes=nodes, seed=seed)
    if n_processes == 1:
        for share in shares:
            yield from some(share)
        return
    # Not forked: whoever calls this may have threads, of a progress bar for one.
    with ProcessPoolExecutor(n_processes, mp_context=get_context("forkserver")) as pool:
        for covered in pool.map(some, shares):
            yield from covered


def _episodes(
    library: Path, config: Config, numbers: Sequence[int], *, operations: int, nodes: int, seed: int
) -> list[Coverage]:
    carry_out = partial(_episode, library, config, operations=operations, nodes=nodes, seed=seed)
    return list(side_by_side(carry_out, numbers, library, nodes=nodes))


def _episode(
    library: Path, config: Config, number: int, *, operations: int, nodes: int, seed: int, waves: Waves | None = None,
) -> Coverage:
    """Coverage of one episode. Raises :class:`SoakError`."""
    try:
        one = Episode(library, config, nodes=nodes, seed=seed, number=number, waves=waves)
        for _done in one.run(min(EPISODE_OPERATIONS, operations - number * EPISODE_OPERATIONS)):
            pass
    except (SoakError, SimulationFaultError, RegisterAccessError) as error:
        again = f"conic soak --operations {operations} --nodes {nodes} --seed {seed} --episode {number}"
        raise SoakError(f"{error}\nagain, with a waveform: {again} --waves soak.fst") from None
    return one.coverage
