"""`conic study`: the quick study of multicast tables, the area of the offload unit; their pages and their claims."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim.study.mft.claims import claims

Conic = Callable[..., Any]

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"


def test_quick(conic: Conic, tmp_path: Path) -> None:
    """Rows, claims and one page that needs nothing else; what was measured can be judged again without measuring."""
    saved = tmp_path / "rows.json"
    outcome = conic("study", "mft", "--quick", "--part", "torus", "--part", "random", "--output-dir", str(tmp_path),
                    "--save-rows", str(saved), "--json")
    assert outcome.code == 0
    values = json.loads(outcome.out)
    assert values["study"] == "mft"
    assert values["claims"]
    assert all(claim["holds"] for claim in values["claims"])
    assert not any(row.get("violations") for row in values["results"])
    page = (tmp_path / "index.html").read_text()
    assert page.count("<svg") >= 5
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", "").replace("https://matplotlib.org", "")
    again = conic("study", "mft", "--quick", "--rows", str(saved), "--output-dir", str(tmp_path), "--json")
    assert json.loads(again.out)["claims"] == values["claims"]


def test_claims_can_fail() -> None:
    """A claim is judged by the rows, not by hope."""
    row = {"kind": "case", "network": "n", "topology": "t", "pattern": "p", "label": "p", "processes": 1,
           "is_hard": True, "mft_size": None, "colours": 10, "max_efi": 10, "groups": 5, "seconds": 1.0,
           "violations": 0,
           "max_entries": 3}
    worse = [row | {"way": "mr4lms"}, row | {"way": "best", "colours": 11}]
    assert [claim["holds"] for claim in claims(worse)] == [False, False, True]
    broken = [row | {"way": "mr4lms", "violations": 1}, row | {"way": "best", "colours": 9}]
    assert [claim["holds"] for claim in claims(broken)] == [True, True, False]


@pytest.mark.parametrize(("tiles", "code"), [(113, 1), (114, 0)])
def test_area(conic: Conic, tmp_path: Path, tiles: int, code: int) -> None:
    """512 KiB of packets take 113.8 tiles of block RAM: the claim is judged by the buffer alone, at its bound."""
    row = json.loads((FIGURES / "offload_area.json").read_text())
    next(block for block in row["blocks"] if block["block"] == "buffer")["block_ram"] = tiles
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps([row]))
    outcome = conic("study", "area", "--rows", str(rows), "--output-dir", str(tmp_path), "--json")
    assert outcome.code == code
    assert [claim["holds"] for claim in json.loads(outcome.out)["claims"]] == [code == 0]
    assert "aggregator" in (tmp_path / "index.html").read_text()


def test_list(conic: Conic) -> None:
    assert "mft" in json.loads(conic("study", "--json").out)


@pytest.mark.parametrize(("arguments", "message"), [
    (["nothing"], "NAME must be one of algorithms, area, buffer-occupancy, congestion-collectives"),
    (["mft", "--quick", "--part", "ring"], "--part must be one of dragonfly"),
    (["mft", "--rows", "/nowhere.json"], "No such file"),
])
def test_refused(conic: Conic, arguments: list[str], message: str) -> None:
    outcome = conic("study", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
