"""A NIC whose offload units are translated once, as a model of their own, is the same NIC."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

import sim.cluster.build
from firmware_models.config import Config
from sim.cluster.units_apart import edge_of_all
from sim.collective import CollectiveRequest, CollectiveResult, run_collective
from sim.stalls import random_stalls
from testbench.unit_config import UNIT

# Everything is as small as it can be: it has to be compiled.
CONFIG = UNIT.changed(
    datapath={"data_width": 64, "mtu": 64},
    nic={"n_vps": 4, "n_cous": 4, "n_p2p_tags": 2, "n_windows": 2},
    cou={"n_jobs": 1, "n_contexts": 2, "sequence_depth": 8, "buffer_bytes": 1024, "buffer_mode": "linear",
         "n_peers": 4},
    reduce={"datatypes": ("float64",), "multiply": False},
    switch={"radix": 4, "table_entries": 4},
)


WORK = (
    ("allreduce", "recursive-doubling"), ("allreduce", "rabenseifner"), ("allreduce", "ring"),
    ("reduce", "binomial"), ("broadcast", "double-binary-tree"), ("barrier", "dissemination"),
)
N_SEEDS = 3


def runs(config: Config) -> Iterator[CollectiveResult]:
    """Four jobs, one to each unit: undisturbed, and with random latencies, jitter, stalls and starts."""
    for collective, algorithm in WORK:
        for seed in range(N_SEEDS):
            request = CollectiveRequest(
                collective=collective, algorithm=algorithm, nodes=3, jobs=4, size=0 if collective == "barrier" else 512,
                config=config, preset="test", seed=seed,
            )
            yield run_collective(replace(request, stalls=random_stalls(seed)) if seed else request)


@pytest.mark.long
@pytest.mark.parametrize("reliable", [False, True])
def test_cycles(monkeypatch: pytest.MonkeyPatch, reliable: bool) -> None:
    """Every bit is right, and it is cycle for cycle what one flat model does."""
    config = CONFIG.changed(link={"reliable": reliable})
    apart = list(runs(config))
    monkeypatch.setattr(sim.cluster.build, "_units_stand_apart", lambda _config: False)
    for ours, flat in zip(apart, runs(config), strict=True):
        assert ours.mismatched_bits == 0
        assert len(ours.completions) == len(flat.completions) > 0
        assert ours.cycles == flat.cycles
        assert ours.sha256 == flat.sha256
        assert ours.stalls == flat.stalls
        assert [entry.timestamp for entry in ours.completions] == [entry.timestamp for entry in flat.completions]


ROOT = "Vconic_offload_unit___024root"


def code(*statements: str, guard: str = "(1ULL & vlSelfRef.__VnbaTriggered[0U])") -> str:
    """What Verilator writes around the statements of a rising edge."""
    body = "".join(f"        {statement}\n" for statement in statements)
    return (
        f"void {ROOT}___eval_nba({ROOT}* vlSelf) {{\n    // Body\n    if ({guard}) {{\n{body}    }}\n}}\n"
    )


def test_each_step_is_carried_out_in_all_units() -> None:
    """Before the next one; functions of a part of the unit get that part."""
    lines = edge_of_all(code(f"{ROOT}___nba_first(vlSelf);", "Vlane___nba_second((&vlSymsp->TOP__lane));")).splitlines()
    assert lines[:2] == [f"void {ROOT}___nba_first({ROOT}*);", "void Vlane___nba_second(Vlane*);"]
    assert [line.strip() for line in lines if "unit :" in line] == [
        f"for (auto* unit : units) {ROOT}___nba_first(unit);",
        "for (auto* unit : units) Vlane___nba_second(&unit->vlSymsp->TOP__lane);",
    ]


def test_a_unit_with_other_statements_is_one_step() -> None:
    """Which small ones have: nothing is left out."""
    text = edge_of_all(code(f"{ROOT}___nba_first(vlSelf);", "vlSelfRef.count = 1U;"))
    assert [line.strip() for line in text.splitlines() if "unit :" in line] == [
        f"for (auto* unit : units) {ROOT}___eval_nba(unit);",
    ]


def test_another_condition_is_refused() -> None:
    """A unit with two clocks, or another version of Verilator."""
    with pytest.raises(ValueError, match="another version of Verilator"):
        edge_of_all(code(f"{ROOT}___nba_first(vlSelf);", guard="(3ULL & vlSelfRef.__VnbaTriggered[0U])"))
