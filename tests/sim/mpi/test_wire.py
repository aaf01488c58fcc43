"""Numbers that the interposer and the simulator share are the same in C and in Python."""

import re
import subprocess
from pathlib import Path

import pytest

import sim.mpi
from sim.mpi import wire
from sim.mpi.element import Element, MpiOp
from sim.mpi.interposer import tool

HEADER = Path(sim.mpi.__file__).with_name("interposer") / "wire.h"
ENUMS = {
    "request_kind": (wire.RequestKind, "REQUEST_"), "answer_kind": (wire.AnswerKind, "ANSWER_"),
    "collective": (wire.Collective, ""), "element": (Element, ""), "operator_": (MpiOp, ""),
    "reason": (wire.Reason, ""),
}


def printed(tmp_path, lines):
    """Output of a C program that has these lines and includes the header."""
    source, program = tmp_path / "said.c", tmp_path / "said"
    includes = ["<stddef.h>", "<stdio.h>", f'"{HEADER}"']
    source.write_text("\n".join([*(f"#include {each}" for each in includes), "int main(void) {", *lines, "}", ""]))
    subprocess.run([tool("mpicc"), "-o", program, source], check=True)
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("name", ENUMS)
def test_enums(tmp_path, name):
    """Every name of the header is one of Python's, and every one of Python's has the header's number."""
    kind, prefix = ENUMS[name]
    body = re.sub(r"//.*", "", re.search(rf"enum {name} {{(.*?)}}", HEADER.read_text(), re.DOTALL)[1])
    names = re.findall(r"[A-Z]\w*", body)
    assert [word.removeprefix(prefix) for word in names] == [member.name for member in kind]
    assert printed(tmp_path, [f'printf("%d\\n", {word});' for word in names]) == [str(int(member)) for member in kind]


def test_messages(tmp_path):
    """Sizes of messages and of the head of a segment, flags, and where the last field of a request stands."""
    lines = [f'printf("%d\\n", (int)({what}));' for what in (
        "sizeof(struct request)", "sizeof(struct answer)", "HEAD_BYTES", "IN_PLACE", "NONBLOCKING", "PERSISTENT",
        "offsetof(struct request, communicator_name)",
    )]
    wanted = [wire.REQUEST.size, wire.ANSWER.size, wire.HEAD_BYTES, *wire.Flag, wire.REQUEST.size - 40]
    assert printed(tmp_path, lines) == [str(int(value)) for value in wanted]


def test_head_of_a_segment(tmp_path):
    """Where calls are counted and threads say what they do, and that there is room for both."""
    lines = [f'printf("%d\\n", (int)({what}));' for what in (
        "offsetof(struct head, passed)", "offsetof(struct head, slots)", "SLOTS", "SLOT_BYTES", "COLLECTIVES",
        "REASONS",
        "SLOT_FREE", "SLOT_OUTSIDE", "SLOT_INSIDE", "sizeof(struct head) <= HEAD_BYTES",
    )]
    wanted = [wire.PASSED_AT, wire.SLOTS_AT, wire.SLOTS, wire.SLOT_BYTES, len(wire.Collective), len(wire.Reason),
              *wire.SlotState, 1]
    assert printed(tmp_path, lines) == [str(int(value)) for value in wanted]
