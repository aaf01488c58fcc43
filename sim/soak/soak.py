"""Episode after episode, until so many operations have been carried out."""

from pathlib import Path

from firmware_models.config import Config
from sim.cluster import RegisterAccessError, SimulationFaultError, Waves, build_library
from sim.report.progress import ProgressCallback
from sim.soak.episode import Coverage, Episode, SoakError

EPISODE_OPERATIONS = 50
"""Operations of an episode."""


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
    covered = Coverage()
    numbers = range(-(-operations // EPISODE_OPERATIONS)) if episode is None else [episode]
    for number in numbers:
        first = number * EPISODE_OPERATIONS
        try:
            one = Episode(
                library, config, nodes=nodes, seed=seed, number=number,
                waves=None if waves is None else Waves(path=waves),
            )
            for done in one.run(min(EPISODE_OPERATIONS, operations - first)):
                say("operations", first + done, operations)
        except (SoakError, SimulationFaultError, RegisterAccessError) as error:
            again = f"conic soak --operations {operations} --nodes {nodes} --seed {seed} --episode {number}"
            raise SoakError(f"{error}\nagain, with a waveform: {again} --waves soak.fst") from None
        covered.add(one.coverage)
    return covered
