"""Files that people write, within bounds: each refusal is one short line, and comes at once."""

from pathlib import Path

import pytest

from firmware_models.files import (
    FileError,
    aside,
    compose_yaml,
    parse_json,
    parse_yaml,
    read_text,
    shown,
    write_bytes,
    write_text,
    written,
)

BOMB = "a: &a [x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
"""4^8 values from nine lines; twenty lines would fill any memory."""

REFUSED_YAML = {
    BOMB: "is not YAML: alias *a is not taken (line 2)",
    "[" * 100_000: "is not YAML: nested more than 32 levels deep (line 1)",
    "- " * 100_000 + "x": "is not YAML: nested more than 32 levels deep (line 1)",
    "a: 1\na: 2": "is not YAML: key 'a' stands twice (line 2)",
    "1: 2": "is not YAML: a key must be text (line 1)",
    "? [a]\n: b": "is not YAML: a key must be text (line 1)",
    "a: " + "9" * 5000: "is not YAML: must be a whole number of at most 40 digits (line 1)",
    "a: 0x" + "f" * 5000: "is not YAML: must be a whole number of at most 40 digits (line 1)",
    "a: !!python/name:os.abort x":
        "is not YAML: could not determine a constructor for the tag 'tag:yaml.org,2002:python/name:os.abort' (line 1)",
    "a: !!binary eA==":
        "is not YAML: could not determine a constructor for the tag 'tag:yaml.org,2002:binary' (line 1)",
    "a\0b": 'is not YAML: unacceptable character #x0000: special characters are not allowed in "<unicode string>", '
            "position 1",
    "a: 1\n---\nb: 2": "is not YAML: but found another document (line 2)",
    'a: "\\U00110000"': "is not YAML: ",
    "a: [": "is not YAML: expected the node content, but found '<stream end>' (line 1)",
}


@pytest.mark.parametrize("text", REFUSED_YAML, ids=lambda text: text[:20])
def test_refused_yaml(text):
    with pytest.raises(FileError) as caught:
        parse_yaml(text)
    assert str(caught.value).startswith(REFUSED_YAML[text])
    assert len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)


def test_yaml_values():
    """Scalars are what they look like; what looks like a date, a time or an octal number is text."""
    assert parse_yaml("{a: 1, b: -0x10, c: 1_000, d: 1e3, e: true, f: ~, g: 2024-01-01, h: 1:30, i: 010, j: [x, .5]}") \
        == {"a": 1, "b": -16, "c": 1000, "d": 1000.0, "e": True, "f": None, "g": "2024-01-01", "h": "1:30", "i": "010",
            "j": ["x", 0.5]}
    assert parse_yaml("") is None


def test_composed():
    """The nodes are bounded as the values are."""
    assert compose_yaml("") is None
    assert compose_yaml("a: 1").start_mark.line == 0
    with pytest.raises(FileError, match=r"^is not YAML: alias \*a is not taken"):
        compose_yaml(BOMB)


@pytest.mark.parametrize(("text", "message"), [
    ("[" * 100_000, "must be JSON that is nested less deeply"),
    ("9" * 5000, "must have numbers of at most 40 digits, not 5000"),
    ("{", "must be JSON: line 1: Expecting property name enclosed in double quotes"),
])
def test_refused_json(text, message):
    with pytest.raises(FileError) as caught:
        parse_json(text)
    assert str(caught.value) == message


def test_read_text(tmp_path):
    """No file, a folder, a device that never ends, binary."""
    (tmp_path / "binary").write_bytes(b"ok\n\xff\xfe")
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_text(tmp_path / "text") == "a\nb"
    for path, message in (
        (tmp_path / "none", "cannot be read: No such file or directory"), (tmp_path, "cannot be read: Is a directory"),
        (tmp_path / "binary", "must be UTF-8 text, not byte 0xff in line 2"),
        (tmp_path / "a\0b", "cannot be read: no name of a file"),
    ):
        with pytest.raises(FileError) as caught:
            read_text(path)
        assert str(caught.value) == message
    endless = tmp_path / "endless"
    endless.symlink_to("/dev/zero")
    with pytest.raises(FileError, match=r"^must have at most 1,000 bytes$"):
        read_text(endless, most_bytes=1000)


def test_shown():
    """A value that is repeated in a message is short, whatever it is."""
    assert shown("x" * 10_000) == "'" + "x" * 37 + "..." + "x" * 38 + "'"
    assert len(shown({str(n): list(range(n)) for n in range(200)})) < 1000
    assert shown(10 ** 4000) == f"1{'0' * 37}...{'0' * 39}"


def test_written(tmp_path):
    """A file is there when it is complete; a failure leaves what was there, and no other file."""
    path = tmp_path / "x.txt"
    with written(path) as file:
        file.write("one")
        assert not path.exists()
    with pytest.raises(TypeError), written(path) as file:
        file.writelines(["two", 2])
    assert path.read_text() == "one"
    write_text(path, "three")
    write_bytes(tmp_path / "y", b"\0")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.txt", "y"]
    assert path.read_text() == "three"


def test_written_nowhere(tmp_path):
    """Errors name the file: no folder, a folder in its place, no space."""
    for path, number in ((tmp_path / "no" / "x", 2), (tmp_path, 21), (Path("/dev/full"), 28)):
        with pytest.raises(OSError, match=str(path)) as caught:
            write_text(path, "x")
        assert (caught.value.errno, caught.value.filename) == (number, str(path))


def test_aside(tmp_path):
    """A file that another program writes: after a failure that leaves it complete it is kept."""
    path = tmp_path / "x.fst"
    for error in (None, ValueError, KeyError):
        try:
            with aside(path, keep=(ValueError,)) as part:
                assert part.suffix == ".fst"
                part.write_text(str(error))
                if error:
                    raise error
        except (ValueError, KeyError):
            pass
        assert path.read_text() == str(None if error is None else ValueError)
    with aside(tmp_path / "never"):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["x.fst"]
