"""Initial values of memories in short blocks.

Yosys looks at all assignments of an ``initial`` block before each of its next, so the time grows with the square of the
words, and a packet buffer has tens of thousands. Many short blocks mean the same, and their time grows with the words.
"""

import re

LONGEST = 64
"""Words of one block."""

_BLOCK = re.compile(
    r"^(?P<indent> *)initial begin\n"
    r"(?P<words>(?:(?P=indent)  \S+ ?\[\d+\] = [^;\n]*;\n)+)"
    r"(?P=indent)end\n", re.MULTILINE,
)
"""A block that does nothing but give words of a memory their values, as Yosys writes it."""


def short_initial_blocks(text: str) -> str:
    """The Verilog `text`, with no more than :data:`LONGEST` words of a memory in a block; the values are the same.

    Words of a memory are assigned once, so it does not matter which block comes first.
    """
    return _BLOCK.sub(_cut, text)


def _cut(block: re.Match[str]) -> str:
    words, indent = block["words"].splitlines(keepends=True), block["indent"]
    return "".join(
        f"{indent}initial begin\n{''.join(words[first:first + LONGEST])}{indent}end\n"
        for first in range(0, len(words), LONGEST)
    )
