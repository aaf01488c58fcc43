"""A waveform of a whole cluster: all models, no complaint of the writer. Long, for it needs a build of its own."""

from pathlib import Path

import pytest

from firmware_models.config import Config
from sim.collective import CollectiveRequest, run_collective


@pytest.mark.long
def test_waves(small: Config, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    request = CollectiveRequest(
        collective="reduce", algorithm="binomial", nodes=2, size=64, config=small, preset="small",
    )
    waves = tmp_path / "run.fst"
    traced, plain = run_collective(request, waves=waves), run_collective(request)
    assert capfd.readouterr() == ("", "")
    assert waves.stat().st_size > 10_000
    assert (traced.cycles, traced.sha256, traced.mismatched_bits) == (plain.cycles, plain.sha256, 0)
