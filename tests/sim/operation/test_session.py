"""Sessions: hardware that cannot reach all nodes is refused before anything is posted."""

import pytest

from firmware_models.config import Config, ConfigError
from sim.operation.session import Session


def test_nodes_without_a_route(small: Config) -> None:
    few = small.changed(switch={"table_entries": 2})
    with pytest.raises(ConfigError, match=r"switch\.table_entries must be at least 3, the nodes, not 2"):
        Session(None, few, nodes=3)  # type: ignore[arg-type]
