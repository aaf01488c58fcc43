"""Identifiers, docstrings and comments use the words of ``docs/glossary.md``."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("firmware_models", "rtl", "testbench", "sim", "fpga")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
FILES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def banned() -> list[str]:
    """The left column of the glossary's last table."""
    section = GLOSSARY.split("## Words that do not stand in code")[1]
    rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")][2:]
    return [word.strip() for row in rows for word in row.split(",")]


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Names that a file defines or uses, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Docstrings, those behind attributes included, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Comments with their lines; those that stand alone, one below the other in one column, are one text."""
    lines, below, begin, text = source.splitlines(), None, 0, ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        (line, column), words = token.start, token.string.lstrip("#: ")
        alone = not lines[line - 1][:column].strip()
        if alone and (line, column) == below:
            text += f"\n{words}"
        else:
            if text:
                yield begin, text
            begin, text = line, words
        # A comment behind a statement is one line.
        below = (line + 1, column) if alone else None
    if text:
        yield begin, text


def violations(source: str) -> list[str]:
    """Lists the faults of a file, as ``line: word``."""
    tree, found = ast.parse(source), []
    # Words of several words may be broken across lines.
    patterns = (r"\s+".join(map(re.escape, word.split())) for word in banned())
    words = re.compile(rf"\b({'|'.join(patterns)})\b", re.IGNORECASE)
    for line, name in identifiers(tree):
        # Snake case and camel case, word by word.
        parts = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace("_", " ")
        found += [f"{line}: {word} in {name}" for word in words.findall(parts)]
    for line, text in docstrings(tree):
        found += [f"{line}: {word}" for word in words.findall(text)]
        if re.search(r"(^|[.:;]\s+|\n\s*)Whether\b", text):
            found.append(f"{line}: a sentence begins with Whether")
    for line, text in comments(source):
        found += [f"{line}: {word} in a comment" for word in words.findall(text)]
        questions = re.findall(r"(?:^|[.:;!?]\s+|\n\s*)(What|Whether|Who)\b", text)
        found += [f"{line}: a sentence of a comment begins with {word}" for word in questions]
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_words(room: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}" for path in FILES if path.is_relative_to(ROOT / room)
        for line in violations(path.read_text())
    ]
    assert found == [], "see docs/glossary.md"


VERBS = {"came", "comes", "went", "goes", "gone", "tired", "asked", "some"}
"""A verb is no name for a signal: a noun, an adjective, a past participle with its noun."""


def verbs_in_names(source: str) -> list[str]:
    """Names, and names in quotation marks, of which a part is one of :data:`VERBS`."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = token.string.strip("\"'") if token.type == tokenize.STRING else token.string
        if token.type in (tokenize.NAME, tokenize.STRING) and text.isidentifier() and VERBS & set(text.split("_")):
            found.append(f"{token.start[0]}: {text}")
    return found


def test_names_of_the_hardware() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{name}" for path in FILES if path.is_relative_to(ROOT / "rtl")
        for name in verbs_in_names(path.read_text())
    ]
    assert found == [], "a signal that carries data is a noun, a flag an adjective, an event a past participle"
    assert verbs_in_names('i_gone = Signal(name="some")\nawesome = 1') == ["1: i_gone", "1: some"]


def test_words_of_the_map() -> None:
    """Texts of the map of registers and formats: there the names of an interface stay, and stand in backticks."""
    retired = re.compile(r"\b(loans?|lent|lend\w*|places?)\b", re.IGNORECASE)
    texts = [line for line in (ROOT / "docs" / "abi.md").read_text().splitlines() if line.startswith("| ")]
    assert len(texts) > 200
    found = [text for text in texts if retired.search(re.sub(r"`[^`]*`|results are in place", "", text))]
    assert found == [], "see docs/glossary.md"


@pytest.mark.parametrize(("source", "found"), [
    ('"""Whether it rests."""', ["1: a sentence begins with Whether"]),
    ('"""Rests.\n\nMembers\n-------\nx : bool\n    Whether it rests."""', ["1: a sentence begins with Whether"]),
    ('"""Says whether it rests."""', []),
    ("def tell_news(): ...", ["1: news in tell_news"]),
    ("class JobNews: ...", ["1: News in JobNews"]),
    ('x = 1\n"""What the table is told."""', ["2: told"]),
    ("newsletter = retold = 1", []),
    ("x = 1  # The news act late.", ["1: news in a comment"]),
    ("# Rests.\n# Credits are given\n# back late.\nx = 1", ["1: given\nback in a comment"]),
    ("# What rests.\nx = 1  # Who asks.", [
        "1: a sentence of a comment begins with What", "2: a sentence of a comment begins with Who",
    ]),
    ("def f():\n    #: It rests. Whether\n    #: it may is open.\n    return 1", [
        "2: a sentence of a comment begins with Whether",
    ]),
    ("# It rests.\n# What is there.\nx = '# What is there.'", ["1: a sentence of a comment begins with What"]),
    ("# Says what rests, and who.\nx = '# news'", []),
])
def test_faults_are_found(source: str, found: list[str]) -> None:
    assert violations(source) == found


def test_the_glossary_names_each_word_once() -> None:
    terms = [line.split("|")[1].strip() for line in GLOSSARY.splitlines() if re.match(r"\| [a-zA-Z]", line)]
    assert sorted({term for term in terms if terms.count(term) > 1} - {"term"}) == []
