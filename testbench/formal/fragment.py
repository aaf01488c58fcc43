"""Finds a piece of source by its tokens, so that whoever formats a file anew breaks no proof.

Blanks, comments, ends of lines, indentation, the style of quotes, and a comma before a closing bracket say nothing.
"""

import ast
import io
import tokenize
from collections.abc import Iterator

_NOTHING = frozenset({
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
})
_CLOSING = frozenset(")]}")


def replaced(source: str, old: str, new: str) -> tuple[str, int]:
    """`source` with `new` in the place of `old`, which has to stand there once, and how often it does."""
    tokens = list(_tokens(source))
    wanted = [text for text, _, _ in _tokens(old)]
    texts = [text for text, _, _ in tokens]
    found = [at for at in range(len(texts) - len(wanted) + 1) if texts[at:at + len(wanted)] == wanted] if wanted else []
    if len(found) != 1:
        return source, len(found)
    begin, end = tokens[found[0]][1], tokens[found[0] + len(wanted) - 1][2]
    # A comma at the end of a piece is part of it where it stands in the source, though it is no token of its own there.
    if old.rstrip().endswith(",") and not source[begin:end].endswith(","):
        rest = source[end:]
        end += len(rest) - len(rest.lstrip()) + 1 if rest.lstrip().startswith(",") else 0
    return source[:begin] + (new.lstrip(" ") if old.startswith(" ") else new) + source[end:], 1


def _tokens(source: str) -> Iterator[tuple[str, int, int]]:
    """Text, begin and end of each token that says something."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    waiting: tuple[str, int, int] | None = None
    for text, begin, end in _all(source, starts):
        if waiting is not None and text not in _CLOSING:
            yield waiting
        waiting = None
        if text == ",":
            waiting = text, begin, end
        else:
            yield text, begin, end


def _all(source: str, starts: list[int]) -> Iterator[tuple[str, int, int]]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in _NOTHING:
                continue
            text = token.string
            if token.type == tokenize.STRING and text[0] in "\"'":
                text = repr(ast.literal_eval(text))
            yield text, starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1]
    except (tokenize.TokenError, IndentationError):
        return  # a piece may leave brackets open
