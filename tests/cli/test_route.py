"""`conic route`: what scripts rely on, files in and out, bad input in one line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Conic = Callable[..., Any]
DATA = Path(__file__).parents[1] / "firmware_models" / "routing" / "data"


def test_json(conic: Conic) -> None:
    outcome = conic("route", "fat-tree:4", "--pattern", "4x4", "--mft-size", "4", "--check", "--json")
    assert outcome.code == 0
    values = json.loads(outcome.out)
    assert (values["groups"], values["violations"], values["merged_groups"]) == (8, 0, 0)
    assert values["colours"] <= 4
    assert {"max_efi", "max_tfi", "mean_tfi", "seconds", "seconds_per_group"} <= values.keys()


def test_opensm_byte_for_byte(conic: Conic, tmp_path: Path) -> None:
    outcome = conic("route", str(DATA / "ft8.net"), "--groups", str(DATA / "ft8.sadb"), "--algorithm", "minihop",
                    "--output", str(tmp_path / "mft.dump"))
    assert outcome.code == 0
    assert (tmp_path / "mft.dump").read_bytes() == (DATA / "ft8.mcfdbs").read_bytes()


def test_state_and_leavers(conic: Conic, tmp_path: Path) -> None:
    """Groups are routed in two sessions as in one, and those that leave are gone."""
    state, groups = str(tmp_path / "s.npz"), tmp_path / "g.yaml"
    groups.write_text("groups: {a: [H0, H5], b: [H0, H1, H15]}")
    assert conic("route", "fat-tree:4", "--pattern", "4x4", "--mft-size", "8", "--save-state", state).code == 0
    outcome = conic("route", "fat-tree:4", "--groups", str(groups), "--load-state", state, "--leave", "a,0:1", "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["groups"] == 8
    assert json.loads(outcome.out)["mft_size"] == 8


def test_files_can_be_written(conic: Conic, tmp_path: Path) -> None:
    """Written files are those that OpenSM would read: routing them again gives the same tables."""
    net, groups = tmp_path / "n.net", tmp_path / "g.dump"
    dumps = [tmp_path / "1", tmp_path / "2"]
    assert conic("route", "dragonfly:a=3,p=2,h=1", "--pattern", "4x6", "--algorithm", "minihop",
                 "--write-topology", str(net), "--write-groups", str(groups)).code == 0
    for dump, topology in zip(dumps, (net, "dragonfly:a=3,p=2,h=1"), strict=True):
        assert conic("route", str(topology), "--groups", str(groups), "--algorithm", "minihop",
                     "--output", str(dump)).code == 0
    assert dumps[0].read_bytes() == dumps[1].read_bytes() != b""


def test_a_refusal_leaves_no_file(conic: Conic, tmp_path: Path) -> None:
    """A state is of one network: that of two planes is refused, and nothing has been written by then."""
    net, groups = tmp_path / "planes.net", tmp_path / "g.yaml"
    lines = []
    for plane in "ab":
        lines += [f'Switch 2 "{plane}s"', *(f'[{k + 1}] "{plane}h{k}"[1]' for k in range(2)), ""]
        lines += [line for k in range(2) for line in (f'Hca 1 "{plane}h{k}"', f'[1] "{plane}s"[{k + 1}]', "")]
    net.write_text("\n".join(lines))
    groups.write_text("groups: {a: [ah0, ah1]}")
    files = [tmp_path / name for name in ("t.net", "g.dump", "s.npz", "m.dump")]
    flags = ("--write-topology", "--write-groups", "--save-state", "--output")
    words = [word for flag, path in zip(flags, files, strict=True) for word in (flag, str(path))]
    outcome = conic("route", str(net), "--groups", str(groups), *words)
    assert outcome.code == 2
    assert "--save-state must have a connected network" in outcome.err
    assert not [path for path in files if path.exists()]


@pytest.mark.parametrize(("arguments", "message"), [
    (["fat-tree:5", "--pattern", "2x2"], "topology must be fat-tree:K with K even"),
    (["fat-tree:4"], "--pattern or --groups is required"),
    (["fat-tree:4", "--pattern", "5x5"], "must have 1 to 16 processes"),
    (["fat-tree:4", "--pattern", "2x2", "--mft-size", "0"], "--mft-size: must be 1 to 16383 or unlimited, not '0'"),
    (["fat-tree:4", "--pattern", "2x2", "--algorithm", "dor"], "algorithm must be one of mr4lms"),
    (["fat-tree:4", "--pattern", "2x2", "--merge-with", "all"],
     "--merge-with must be one of similar, sparse, not 'all'"),
    (["fat-tree:4", "--pattern", "2x2", "--order", "middle"], "--order must be one of first, last, not 'middle'"),
    (["fat-tree:4", "--groups", "/nowhere"], "'/nowhere': No such file"),
    (["fat-tree:4", "--pattern", "2x2", "--leave", "x"], "group 'x' must have joined before it can leave"),
])
def test_refused(conic: Conic, arguments: list[str], message: str) -> None:
    outcome = conic("route", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert len([line for line in outcome.err.splitlines() if line.startswith("conic")]) == 1
