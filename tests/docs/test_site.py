"""The pages build into a site without a warning; no link in it is broken, and every page is near its index."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _check() -> ModuleType:
    """The script that `make docs` runs: it stands beside the pages, in no package."""
    spec = importlib.util.spec_from_file_location("site_check", ROOT / "docs" / "site" / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check = _check()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from the working tree."""
    target = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)], cwd=ROOT, text=True,
        capture_output=True, check=False, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    return target


def test_links_and_clicks(site: Path) -> None:
    assert check.problems(site) == []


def test_pages_of_folders_are_in_it(site: Path) -> None:
    """Pages outside of `docs` are there, sources that pages link to included."""
    for name in ("tree/index.html", "tree/rtl/cou/index.html", "tree/rtl/interface.py.html"):
        assert (site / name).is_file(), name
    assert "class PacketSignature" not in (site / "tree/rtl/cou/index.html").read_text()


def test_studies_are_pages_of_their_rows(site: Path) -> None:
    rows = sorted((ROOT / "docs" / "studies").glob("*.json"))
    assert rows
    assert all("<svg" in (site / "studies" / f"{path.stem}.html").read_text() for path in rows)
    assert 'href="studies/noise.html"' in (site / "studies.html").read_text()


def _page(text: str) -> str:
    return f"<html><body><nav><a href='lost.html'>menu</a></nav><article>{text}</article></body></html>"


@pytest.mark.parametrize(("pages", "found"), [
    ({"index": "<a href='a.html#x'>a</a>", "a": "<h1 id='x'>a</h1>", "lost": "<a href='index.html'>up</a>"},
     ["lost.html: no page that the index leads to links to it"]),
    ({"index": "<a href='lost.html#y'>a</a>", "lost": "<h1 id='x'>a</h1>"},
     ["index.html: lost.html#y leads to no anchor"]),
    ({"index": "<img src='b.svg'><a href='lost.html'>b</a>", "lost": ""}, ["index.html: b.svg leads to no file"]),
    ({"index": "<a href='1.html'>1</a>", "1": "<a href='2.html'>2</a>", "2": "<a href='3.html'>3</a>",
      "3": "<a href='lost.html'>4</a>", "lost": ""}, ["lost.html: 4 clicks from the index"]),
    ({"index": "<p>Two things:\n- one\n- two</p><a href='lost.html'>b</a>", "lost": ""},
     ["index.html: a list in a paragraph: '- one'", "index.html: a list in a paragraph: '- two'"]),
])
def test_faults_are_found(tmp_path: Path, pages: dict[str, str], found: list[str]) -> None:
    """A page that only a menu links to, a missing anchor, a missing picture, a page that is far."""
    for name, text in pages.items():
        (tmp_path / f"{name}.html").write_text(_page(text))
    assert check.problems(tmp_path) == found
