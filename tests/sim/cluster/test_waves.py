"""A waveform of a whole cluster, or of some cycles of it. Long, for it needs a build of its own."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pywellen

from firmware_models.config import Config
from sim.cluster import Cluster, Execution, Waves, build_library
from sim.collective import CollectiveRequest, run_collective
from sim.host import Host, load_host
from sim.operation.session import Session

FIRST, LAST = 6_303, 6_347
"""A window that begins and ends within the windows of four cycles that links give."""


def asked(small: Config, **more: Any) -> CollectiveRequest:
    return CollectiveRequest(**{
        "collective": "allreduce", "algorithm": "ring", "nodes": 3, "size": 240, "config": small, "preset": "small",
        **more,
    })


def times(path: Path) -> list[int]:
    """Every time at which something changes in a waveform, in order."""
    found: set[int] = set()
    pywellen.Waveform(str(path)).stream_changes(lambda time, _signal, _value: found.add(time), None)
    return sorted(found)


@pytest.mark.long
def test_waves(small: Config, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No complaint of the writer; the run is the one without a waveform."""
    request = asked(small)
    waves = tmp_path / "run.fst"
    traced, plain = run_collective(request, waves=Waves(path=waves)), run_collective(request)
    assert capfd.readouterr() == ("", "")
    assert waves.stat().st_size > 10_000
    assert replace(traced, outputs=plain.outputs) == plain
    assert times(waves)[0] == 0
    assert times(waves)[-1] in (2 * traced.last_cycle - 1, 2 * traced.last_cycle - 2)


@pytest.mark.long
@pytest.mark.parametrize("more", [{}, {"host": load_host("server"), "host_based": True, "size": 24}])
def test_a_window_is_that_part_of_the_whole(small: Config, tmp_path: Path, more: dict[str, Any]) -> None:
    """Nothing before, nothing after, and every signal has the values that it has in a waveform of everything."""
    request, paths = asked(small, **more), [tmp_path / "all.fst", tmp_path / "some.fst"]
    whole = run_collective(request, waves=Waves(path=paths[0]))
    part = run_collective(request, waves=Waves(path=paths[1], first=FIRST, cycles=LAST - FIRST))
    assert whole.first_cycle < LAST < whole.first_cycle + whole.cycles
    assert part == replace(whole, outputs=part.outputs)
    assert times(paths[1]) == list(range(2 * FIRST, 2 * LAST))
    everything, some = (
        {variable.full_name: variable for variable in pywellen.Waveform(str(path)).all_vars()} for path in paths
    )
    assert everything.keys() == some.keys()
    names = random.Random(1).sample(sorted(everything), 8_000)
    moved = 0
    for name in ["nic0.clk", *names]:
        expected, got = (
            [each[name].signal.value_at(time) for time in range(2 * FIRST, 2 * LAST)] for each in (everything, some)
        )
        assert got == expected, name
        moved += len(set(got)) > 1
    assert moved > 10


@pytest.mark.long
@pytest.mark.parametrize("host", [None, load_host("server")])
def test_windows_change_nothing(small: Config, tmp_path: Path, host: Host | None) -> None:
    """Wherever stations begin to keep step, and go ahead again: what is on its way then arrives."""
    request = asked(small, host=host)
    plain, waves = run_collective(request), tmp_path / "run.fst"
    for first in range(plain.first_cycle + 1, plain.first_cycle + plain.cycles, plain.cycles // 12 | 1):
        result = run_collective(request, waves=Waves(path=waves, first=first, cycles=5))
        assert result == replace(plain, outputs=result.outputs), first
        assert times(waves) == list(range(2 * first, 2 * first + 10))


@pytest.mark.long
def test_windows_beyond_the_end(small: Config, tmp_path: Path) -> None:
    """The part of the window that exists is written; if there is none, there is no file."""
    waves = tmp_path / "run.fst"
    end = run_collective(asked(small)).last_cycle
    run_collective(asked(small), waves=Waves(path=waves, first=end, cycles=10))
    assert not waves.exists()
    run_collective(asked(small), waves=Waves(path=waves, first=end - 5, cycles=10))
    assert times(waves) == list(range(2 * end - 10, 2 * end))


def ends_of_runs(request: CollectiveRequest, execution: Execution) -> list[int]:
    """The cycles in which NICs have taken their configuration, and in which an operation is over."""
    with Cluster(
        build_library(request.hardware()), request.wired, memory_bytes=1 << 18,
        memory=replace(request.stalls.memory, read_latency=337), execution=execution,
    ) as cluster:
        session, ends = Session(cluster, request.config, nodes=request.nodes), []
        job = session.post(request, 0)
        steps: list[Callable[[], Any]] = [
            session.configure, session.warm_up, lambda: session.ring([job], not_before=lambda: cluster.cycle + 1_001),
            lambda: session.wait(100_000),
        ]
        for step in steps:
            step()
            ends.append(cluster.cycle)
        return ends


def test_a_run_ends_in_the_same_cycle_whatever_is_left_out(small: Config) -> None:
    """So a run without a waveform, or with one of few cycles, counts cycles since reset as one with all of them."""
    request = asked(small)
    expected = ends_of_runs(request, Execution(threads=1, skip=False, lockstep=True))
    assert ends_of_runs(request, Execution(threads=1)) == expected
