"""What two units are made to do: programs that are right, and what goes wrong on purpose."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from firmware_models.config import Config
from testbench.offload_unit.pair import Pair
from testbench.offload_unit.programs import Author

Scenario = Callable[[Sequence[Any], Config, random.Random, int], Pair]
FIRST_JOB = 3


def _pair(units: Sequence[Any], config: Config, rng: random.Random, count: int) -> tuple[Pair, Author]:
    return Pair(units, config, n_rooms=count, rng=rng), Author(config, rng)


def random_programs(units: Sequence[Any], config: Config, rng: random.Random, count: int) -> Pair:
    """Conversations of as many jobs as there are entries, each job's one after the other."""
    pair, author = _pair(units, config, rng, count)
    for number in range(count):
        pair.post(author.conversation(FIRST_JOB + number % config.cou.n_jobs))
    return pair


SCENARIOS: dict[str, Scenario] = {
    "random programs": random_programs,
}
