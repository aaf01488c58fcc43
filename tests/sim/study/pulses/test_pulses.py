"""The study of pulses: which points fit the hardware, claims."""

from typing import Any

import pytest

from firmware_models.config import load_preset
from sim.study import GridOptions, StudyError
from sim.study.grid import Grid
from sim.study.pulses import study as pulses
from sim.study.pulses.claims import AS_IT_IS, ONE_PACKET, claims, lines


def row(hardware: str, pulse: int, cycles: int, packets: int) -> dict[str, Any]:
    return {"kind": "pulse", "hardware": hardware, "algorithm": "ring", "bytes": 4096, "pulse_bytes": pulse,
            "cycles": cycles, "microseconds": cycles / 100, "occupancy": [packets / 100, 0.0], "most_packets": packets,
            "mismatched_bits": 0, "sha256": "a"}


ROWS = [row(AS_IT_IS, 64, 300, 3), row(AS_IT_IS, 512, 100, 5), row(ONE_PACKET, 64, 500, 1),
        row(ONE_PACKET, 512, 120, 1)]


@pytest.mark.parametrize(("place", "change", "fails"), [
    (0, {}, []),
    (3, {"mismatched_bits": 1}, [0]),
    (2, {"sha256": "b"}, [1]),
    (0, {"cycles": 90}, [2]),
    (3, {"cycles": 100}, []),
    (3, {"cycles": 99}, [3]),
    (2, {"most_packets": 6}, [4]),
])
def test_claims_can_fail(place: int, change: dict[str, Any], fails: list[int]) -> None:
    rows = [each | (change if number == place else {}) for number, each in enumerate(ROWS)]
    assert [number for number, claim in enumerate(claims(rows)) if not claim["holds"]] == fails


def test_lines() -> None:
    found = lines([ROWS[1], ROWS[0], ROWS[2]])
    assert [(name, [each["pulse_bytes"] for each in line]) for name, line in found.items()] == [
        (AS_IT_IS, [64, 512]), (ONE_PACKET, [64]),
    ]


def asked(monkeypatch: pytest.MonkeyPatch, parts: tuple[str, ...], *, is_quick: bool) -> Grid:
    """The grid that would be measured."""
    grids: list[Grid] = []

    def kept(grid: Grid, *_: Any, **__: Any) -> list[Any]:
        grids.append(grid)
        return []

    monkeypatch.setattr(pulses, "run_as_asked", kept)
    pulses._measure(is_quick, parts, None, lambda *_: None, GridOptions(preset="small", nodes=8))  # type: ignore[arg-type]
    return grids[0]


def test_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulses that the packets of each hardware hold; the quick points are some of the full grid's."""
    full = {point.key: point for point in asked(monkeypatch, tuple(pulses.VARIANTS), is_quick=False).points}
    quick = asked(monkeypatch, pulses._QUICK, is_quick=True).points
    assert all(full[point.key] == point for point in quick)
    sizes = {(hardware, algorithm): [] for hardware in pulses.VARIANTS for algorithm in pulses._ALGORITHMS}
    for key in map(dict, full):
        if key["bytes"] == 4096:
            sizes[key["hardware"], key["algorithm"]].append(key["pulse_bytes"])
    assert sizes[AS_IT_IS, "recursive-doubling"] == [64, 128, 256, 512, 1024, 2048]
    assert sizes["mtu 512", "recursive-doubling"] == [64, 128, 256, 512]
    assert sizes["mtu 512", "rabenseifner"] == [16, 32, 64, 128]  # of eight blocks, four of which go together
    for point in full.values():
        setting = point.arguments[0]
        assert setting.other == load_preset("small").changed(**pulses.VARIANTS[dict(point.key)["hardware"]])


def test_hardware_without_room_for_its_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pulses.VARIANTS, "3 packets a peer", {"cou": {"peer_credits": 128}})
    with pytest.raises(StudyError, match=r"--part: 3 packets a peer must fit the preset: .*buffer_bytes must hold"):
        asked(monkeypatch, ("3 packets a peer",), is_quick=True)
