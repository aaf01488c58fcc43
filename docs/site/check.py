"""Checks the built site: ``python docs/site/check.py build/site``.

Every link leads to a file and to an anchor in it, and every page is at most three clicks from the index. Menus do not
count as clicks: what counts is what the pages say. No list has run into a paragraph, as one does without a blank line
before it.
"""

import posixpath
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import networkx as nx

CLICKS = 3
TARGETS = {"a": "href", "img": "src", "link": "href", "script": "src"}


class Page(HTMLParser):
    """A page of the site: its links, those of its text, and its anchors."""

    def __init__(self, text: str):
        super().__init__()
        self.links: set[str] = set()
        self.of_text: set[str] = set()
        self.anchors: set[str] = set()
        self._in_text = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes note of an element."""
        values = dict(attrs)
        self._in_text |= tag == "article"
        self.anchors.update(name for name in (values.get("id"), values.get("name")) if name)
        link = values.get(TARGETS.get(tag, ""))
        if link:
            self.links.add(link)
            if self._in_text and tag == "a":
                self.of_text.add(link)

    def handle_endtag(self, tag: str) -> None:
        """The text ends with its element."""
        self._in_text &= tag != "article"


def resolved(page: str, link: str) -> tuple[str, str] | None:
    """File in the site and anchor that `link` of `page` leads to; None if it leads out of the site.

    Examples
    --------
    >>> resolved("decisions/0001.html", "../jobs.html#rules")
    ('jobs.html', 'rules')
    >>> resolved("index.html", "https://amaranth-lang.org")
    """
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    path = unquote(parts.path)
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    return target, unquote(parts.fragment)


def problems(site: Path) -> list[str]:
    """What is wrong with the site in a folder, a line each."""
    pages = {
        path.relative_to(site).as_posix(): Page(path.read_text()) for path in sorted(site.rglob("*.html"))
        if path.name != "404.html"  # its links are absolute: it is shown at any address
    }
    found = [
        f"{name}: a list in a paragraph: {item!r}" for name in pages
        for paragraph in re.findall(r"<p>(.*?)</p>", (site / name).read_text(), re.DOTALL)
        for item in re.findall(r"\n((?:-|\d+\.) .{,30})", paragraph)
    ]
    clicks = nx.DiGraph()
    clicks.add_nodes_from(pages)
    for name, page in pages.items():
        for link in sorted(page.links):
            end = resolved(name, link)
            if end is None:
                continue
            target, anchor = end
            if not (site / target).is_file():
                found.append(f"{name}: {link} leads to no file")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                found.append(f"{name}: {link} leads to no anchor")
            if link in page.of_text and target in pages:
                clicks.add_edge(name, target)
    depths = nx.single_source_shortest_path_length(clicks, "index.html")
    found += [f"{name}: no page that the index leads to links to it" for name in pages if name not in depths]
    found += [f"{name}: {depth} clicks from the index" for name, depth in depths.items() if depth > CLICKS]
    return found


if __name__ == "__main__":
    lines = problems(Path(sys.argv[1]))
    print(*lines, sep="\n") if lines else print(f"{sys.argv[1]}: every link leads somewhere, every page is linked")
    sys.exit(bool(lines))
