"""Bad input: exit code 2, nothing on standard output, one line that says what is wrong and what would be right."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim.cli.main import COMMANDS

Conic = Callable[..., Any]

ALLREDUCE = "run allreduce --algorithm recursive-doubling --nodes 4 --size 4KiB"
FLAGS = ("--algorithm, --baud, --board, --config, --dtype, --engine, --faults, --host, --host-based, --input, --jobs, "
         "--json, --nodes, --op, --output, --preset, --root, --run-file, --seed, --size, --timeline, "
         "--topology, --trace, --waves, --waves-for, --waves-from")
COLLECTIVES = (
    "broadcast, reduce, allreduce, barrier, allgather, reduce-scatter, scatter, gather, alltoall, scan, exscan"
)

CASES = {
    # The command line itself.
    "": f"conic: command is required: one of {', '.join(COMMANDS)}",
    "rum": f"conic: command must be one of {', '.join(COMMANDS)}, not 'rum'",
    "run": f"conic run: COLLECTIVE: is required; one of {COLLECTIVES}",
    f"{ALLREDUCE} --nods 4": f"conic run: --nods: no such option; allowed: {FLAGS}",
    ALLREDUCE.replace("--nodes 4", "--nodes four"): "conic run: --nodes: must be a whole number, not 'four'",
    ALLREDUCE.replace("4KiB", "4KB"): "conic run: --size: must be bytes as in 4096, 4KiB or 1MiB, not '4KB'",
    f"{ALLREDUCE} --seed -1": "conic run: --seed: must be at least 0, not -1",
    "verify reduce --algorithm binomial --nodes 5 --size 256 --orders 0":
        "conic verify: --orders: must be at least 1, not 0",
    # The operation.
    "run allreduc": f"conic run: COLLECTIVE: must be one of {COLLECTIVES}, not 'allreduc'",
    "run allreduce --nodes 4 --size 64":
        "conic run: --algorithm: is required; one of recursive-doubling, rabenseifner, reduce-multicast, ring for "
        "allreduce",
    "run allreduce --algorithm star --nodes 4 --size 64":
        "conic run: --algorithm: must be one of recursive-doubling, rabenseifner, reduce-multicast, ring for "
        "allreduce, not 'star'",
    "run reduce --algorithm binomial --size 64": "conic run: --nodes: is required, or --input",
    "run reduce --algorithm binomial --nodes 4": "conic run: --size: is required, or --input",
    "run reduce --algorithm binomial --nodes 0 --size 64": "conic run: nodes must be at least 2, not 0",
    "run reduce --algorithm binomial --nodes 1 --size 64": "conic run: nodes must be at least 2, not 1",
    "run reduce --algorithm binomial --nodes 4 --size 64 --root 4": "conic run: root must be 0 to 3, not 4",
    "run reduce --algorithm binomial --nodes 4 --size 64 --root -1": "conic run: root must be 0 to 3, not -1",
    f"{ALLREDUCE} --root 1": "conic run: root must be 0 for allreduce, which has none, not 1",
    "run reduce --algorithm binomial --nodes 4 --size 60":
        "conic run: size must be a positive multiple of 8 bytes (float64), not 60",
    "run reduce --algorithm binomial --nodes 4 --size 0":
        "conic run: size must be a positive multiple of 8 bytes (float64), not 0",
    f"{ALLREDUCE} --dtype float16":
        "conic run: dtype must be one of float64, int64, uint64, float32, int32, uint8, double_int, not 'float16'",
    f"{ALLREDUCE} --jobs 0": "conic run: jobs must be 1 to 8, not 0",
    f"{ALLREDUCE} --topology ring:4":
        "conic run: topology must be one of star:N, fat-tree:K, torus:XxYxZ:TERMINALS, dragonfly:a=A,p=P,h=H, "
        "random:switches=S,ports=P,terminals=T,seed=N, bluelight, taihulight, a file (ibnetdiscover, .net, .yaml), "
        "not 'ring:4'",
    f"{ALLREDUCE} --topology star:3": "conic run: nodes must be 2 to 3, the terminals of 'star:3', not 4",
    f"{ALLREDUCE} --topology star:65": "conic run: topology 'star:65': radix must be 1 to 64, not 65",
    f"{ALLREDUCE} --topology bluelight": "conic run: topology 'bluelight': radix must be 1 to 64, not 272",
    "verify barrier --algorithm dissemination --nodes 4 --size 8":
        "conic verify: size must be 0 for barrier, which moves no data, not 8",
    # Hardware.
    f"{ALLREDUCE} --preset large":
        "conic run: preset must be one of ecpix5_85f, paper, small, ulx3s_85f, versa_ecp5_5g, not 'large'",
    f"{ALLREDUCE} --preset small --config x.yaml": "conic run: --config: give --preset or --config, not both",
    f"{ALLREDUCE} --config no.yaml":
        "conic run: config file 'no.yaml' cannot be read: No such file or directory",
    "verilog --top hub": "conic verilog: --top: must be one of nic, switch, not 'hub'",
    "verilog --preset large":
        "conic verilog: preset must be one of ecpix5_85f, paper, small, ulx3s_85f, versa_ecp5_5g, not 'large'",
    # Schedules alone.
    "schedule reduce --algorithm binomial --nodes 1": "conic schedule: --nodes: must be 2 to 4096, not 1",
    "schedule reduce --algorithm binomial --nodes 4 --root 4": "conic schedule: root must be 0 to 3, not 4",
    "schedule barrier --algorithm dissemination --nodes 4 --root 1":
        "conic schedule: root must be 0 for barrier, which has none, not 1",
}


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("line", CASES)
def test_one_line(line: str, conic: Conic) -> None:
    refused(conic(*shlex.split(line)), CASES[line])


def test_config_typo(conic: Conic) -> None:
    Path("typo.yaml").write_text("nic: {n_vp: 16}")
    refused(conic(*shlex.split(f"{ALLREDUCE} --config typo.yaml")),
            "conic run: typo.yaml: nic.n_vp: no such field (got 16); "
            "allowed: n_vps, n_cous, n_p2p_tags, n_windows, max_burst_beats, reads_under_way, "
            "read_ahead_beats, fetch_batch, p2p, get, n_groups, address_bits")


def test_config_with_wires(conic: Conic) -> None:
    Path("wires.yaml").write_text("link: {reliable: true}")
    refused(conic(*shlex.split(f"{ALLREDUCE} --config wires.yaml")),
            "conic run: wires.yaml: link.reliable must be false here (`conic verify --frame-errors` turns it on), "
            "not True")


@pytest.mark.parametrize(("text", "message"), [
    ("nods: 4", "has no flag 'nods'; allowed: algorithm, baud, board, collective, config, dtype, engine, faults, host, "
                "host-based, input, jobs, json, nodes, op, output, preset, root, seed, size, timeline, topology, "
                "trace, waves, waves-for, waves-from"),
    ("nodes: [4]", ": nodes must be one value, not [4]"),
    ("nodes: true", ": nodes must be a value, not True"),
    ("json: 1", ": json must be true or false, not 1"),
    ("- nodes", "must be a mapping of flags, not ['nodes']"),
])
def test_run_file(text: str, message: str, conic: Conic) -> None:
    Path("typo.yaml").write_text(text)
    separator = "" if message.startswith(":") else " "
    refused(conic(*shlex.split(f"{ALLREDUCE} --run-file typo.yaml")),
            f"conic run: --run-file: 'typo.yaml'{separator}{message}")


def test_run_file_not_yaml(conic: Conic) -> None:
    Path("broken.yaml").write_text("nodes: [")
    outcome = conic(*shlex.split(f"{ALLREDUCE} --run-file broken.yaml"))
    assert outcome.code == 2
    assert outcome.err.startswith("conic run: --run-file: 'broken.yaml' is not YAML: ")
    assert outcome.err.count("\n") == 1


def test_run_file_missing(conic: Conic) -> None:
    refused(conic(*shlex.split(f"{ALLREDUCE} --run-file no.yaml")),
            "conic run: --run-file: 'no.yaml' cannot be read: No such file or directory")


def test_input_file(conic: Conic) -> None:
    base = ["run", "allreduce", "--algorithm", "recursive-doubling", "--input"]
    refused(conic(*base, "no.npy"), "conic run: --input: 'no.npy' cannot be read: No such file or directory")
    Path("text.npy").write_text("1 2 3")
    refused(conic(*base, "text.npy"), "conic run: --input: 'text.npy' must be an array saved by numpy.save")
    np.save("flat.npy", np.zeros(8))
    refused(conic(*base, "flat.npy"), "conic run: --input: 'flat.npy' must have the shape (nodes, elements), not (8,)")
    np.save("rows.npy", np.zeros((4, 8)))
    refused(conic(*base, "rows.npy", "--nodes", "5"),
            "conic run: --nodes: must be 4 as in --input, or left out, not 5")
    refused(conic(*base, "rows.npy", "--size", "8"),
            "conic run: --size: must be 64 as in --input, or left out, not 8")


def refused(outcome: Any, message: str) -> None:
    """Checks that `outcome` is a refusal with exactly this line."""
    assert outcome.err == f"{message}\n"
    assert outcome.out == ""
    assert outcome.code == 2
