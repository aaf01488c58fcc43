"""GOAL as LogGOPSim's txt2bin takes it: spcl/LogGOPSim 76451de takes all texts of `TAKEN`, and none of `LENIENT`."""

from pathlib import Path

import pytest

from firmware_models.connections import ConnectionsError
from firmware_models.connections.trace.goal_text import GoalText, parse_goal

PLAIN = "num_ranks 2\nrank 0 {\nl1: calc 5 cpu 1\nl2: send 8b to 1 tag 1 cpu 2 nic 3\nl2 requires l1\n}\n" \
    "rank 1 {\nl1: recv 8b from -1 tag -1\n}\n"
TAKEN = {
    "a tail": PLAIN + "left over from an editor\n",
    "a tail behind the last bracket": PLAIN.rstrip() + " trailing }}} {\n",
    "another schedule behind": PLAIN + PLAIN.replace("calc 5", "calc 6"),
    "a label twice": PLAIN.replace("l2 requires", "l1: calc 0\nl2 requires"),
    "no blanks": "num_ranks 2\nrank 0{\nl1:calc5cpu1\nl2:send8bto1tag1cpu2nic3\nl2 requiresl1\n}\n"
                 "rank 1{\nl1:recv8bfrom-1tag-1\n}",
    "num_ranks inside": PLAIN.replace("num_ranks 2\n", "").replace("l2 requires", "num_ranks 2\nl2 requires"),
    "num_ranks again": PLAIN.replace("rank 1 {", "num_ranks 2\nrank 1 {"),
    "carriage returns": PLAIN.replace("\n", "\r\n"),
    "no last line end": PLAIN.rstrip(),
    "another character set in a comment": "// caf\xe9\n" + PLAIN,
}
LENIENT = {
    "many blanks": "\tnum_ranks\t2 \n rank  0  {\n l1  :  calc  5  cpu  1 \n\tl2 : send 8 b to 1 tag 1 cpu 2 nic 3\n"
                   "l2  requires  l1 \n } \n rank 1 {\nl1 : recv 8 b from -1 tag -1\t\n}\n",
    "heads on one line": "num_ranks 2 rank 0 { l1: calc 5 cpu 1\nl2: send 8b to 1 tag 1 cpu 2 nic 3\nl2 requires l1\n"
                         "} rank 1 { l1: recv 8b from -1 tag -1\n}\n",
    "comments": "/* a\nb */ num_ranks 2 // c\n// d {\n"
                + PLAIN.partition("\n")[2].replace("l2: send", "/* e */ l2: send"),
}


def parsed(folder: Path, text: str) -> GoalText:
    """Parses a text, whose characters are bytes."""
    path = folder / "x.goal"
    path.write_bytes(text.encode("latin-1"))
    return parse_goal(path)


def meaning(found: GoalText) -> list[tuple[object, ...]]:
    """Operations without their lines, and edges."""
    operations = [(each.rank, each.label, each.kind, each.amount, each.peer, each.tag, each.cpu)
                  for each in found.operations if each.amount]
    return [*operations, *found.edges]


@pytest.mark.parametrize("name", TAKEN | LENIENT)
def test_means_the_same(name: str, tmp_path: Path) -> None:
    assert meaning(parsed(tmp_path, (TAKEN | LENIENT)[name])) == meaning(parsed(tmp_path, PLAIN))


def test_the_first_of_a_label_counts(tmp_path: Path) -> None:
    text = "num_ranks 1\nrank 0 {\nl: calc 1\nl: calc 2\nm: calc 3\nm requires l\n}\n"
    assert parsed(tmp_path, text).edges == [(0, 2, False)]


@pytest.mark.parametrize(("text", "said"), [
    ("num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", "4: rank must be one that has not been described yet, not '0'"),
    ("num_ranks 3\nrank 0 {\n}\nrank 2 {\n}\nover\n", "6: statement must be 'rank R {' or num_ranks, not 'over'"),
    ("rank 0 {\nsend 8b to 2\nnum_ranks 2\n}\n", "2: rank must be 0 to 1, not '2'"),
    ("rank 5 {\nnum_ranks 2\ncalc 1\n}\n", "3: rank must be 0 to 1, not '5'"),
    ("rank 0 {\n}\nnum_ranks 1\n", "2: statement must be num_ranks before the end of rank 0, not '}'"),
])
def test_what_it_does_not_take(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConnectionsError) as refusal:
        parsed(tmp_path, text)
    assert str(refusal.value) == f"{tmp_path}/x.goal:{said}"
