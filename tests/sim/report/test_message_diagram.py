"""The message diagram of a schedule."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from matplotlib.image import imread

from firmware_models.schedule import build
from sim.report.message_diagram import MAX_RANKS, draw_messages, send_times


def test_times_are_those_of_the_longest_chain():
    """Dissemination among 5: three rounds, each packet of a round at the same time."""
    schedule = build("barrier", "dissemination", n_nodes=5)
    times = send_times(schedule)
    assert len(times) == 15
    assert sorted(times.values()) == [0] * 5 + [1] * 5 + [2] * 5


def test_every_packet_has_an_arrow_and_its_seq_id(tmp_path):
    schedule = build("allreduce", "rabenseifner", n_nodes=6)
    path = tmp_path / "messages.svg"
    draw_messages(schedule, path)
    words = [element.text for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
    for packet in schedule.packets():
        first, count = schedule.sequences[packet.sender][packet.step].blocks
        assert any((word or "").startswith(str(packet.index)) for word in words)
        if count == 1:
            assert f"{packet.index}: block {first}" in words
    assert sum("block" in (word or "") for word in words) == sum(
        schedule.sequences[packet.sender][packet.step].blocks[1] > 0 for packet in schedule.packets()
    )
    assert "node 5" in words


def test_the_same_schedule_gives_the_same_file(tmp_path):
    schedule = build("broadcast", "binomial", n_nodes=4)
    for name in ("a.svg", "b.svg"):
        draw_messages(schedule, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize(("collective", "algorithm"), [("allreduce", "rabenseifner"), ("alltoall", "pairwise")])
def test_64_nodes_are_a_picture_that_a_screen_shows(collective, algorithm, tmp_path):
    """At most 2,000 pixels a side and 3 MB (once 11,000 and 18 MB), the title says how many packets there are."""
    schedule = build(collective, algorithm, n_nodes=64)
    draw_messages(schedule, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size < 3_000_000
    height, width = imread(tmp_path / "a.png").shape[:2]
    assert max(height, width) <= 2000
    draw_messages(schedule, tmp_path / "a.svg")
    words = [element.text for element in ElementTree.parse(tmp_path / "a.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert any(f"{len(list(schedule.packets())):,} packets" in (word or "") for word in words)
    assert len(words) < 100, "labels that cover each other are left out"


def test_too_many_ranks(tmp_path):
    schedule = build("broadcast", "binomial", n_nodes=MAX_RANKS + 1)
    with pytest.raises(ValueError, match=rf"^a diagram can have at most {MAX_RANKS} nodes, not {MAX_RANKS + 1}$"):
        draw_messages(schedule, tmp_path / "a.svg")


def test_a_packet_that_is_never_sent():
    schedule = build("broadcast", "binomial", n_nodes=2)
    silent = replace(schedule, sequences=((replace(schedule.sequences[0][0], send_to=None),), schedule.sequences[1]))
    with pytest.raises(ValueError, match=r"^ranks 1 wait for packets that never come$"):
        send_times(silent)
