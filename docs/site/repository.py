"""Hook of MkDocs: brings into the site what the pages of ``docs`` link to elsewhere in the repository.

Pages outside of ``docs`` become pages of the site under ``tree/``; a source file that some page links to becomes a page
with its text, a folder without a README a list of its files, kept rows of a study its page, which is drawn from them.
Links are written as they are right in the repository; the hook turns them into those that are right in the site.
"""

import posixpath
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from sim.study.kept import kept_page

LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(`{3,}).*?^\1$", re.DOTALL | re.MULTILINE)
ASSETS = (".svg", ".png", ".json", ".html")
"""Files that stay what they are."""
STUDY = re.compile(r"docs/(studies/[\w-]+)\.json")
"""Rows of a study, which become its page."""
LANGUAGES = {".py": "python", ".h": "c", ".c": "c", ".cpp": "cpp", ".yaml": "yaml", ".toml": "toml"}


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds the pages outside of ``docs``, one for every source file that some page links to, and those of studies."""
    root = _root(config)
    outside = [page for page in _tracked(root, "*.md") if not page.startswith("docs/")]
    for page in outside:
        files.append(File.generated(config, f"tree/{page}", abs_src_path=str(root / page)))
    pages = [*outside, *(page for page in _tracked(root, "*.md") if page.startswith("docs/"))]
    linked = {target for page in pages for target in _targets(root, page)}
    for folder in sorted(target for target in linked if _is_bare(root, target)):
        inside = [path for path in _tracked(root, f"{folder}/*") if posixpath.dirname(path) == folder]
        rows = "".join(f"- [{posixpath.basename(path)}]({posixpath.basename(path)})\n" for path in inside)
        files.append(File.generated(config, f"tree/{folder}/README.md", content=f"# {folder}\n\n{rows}"))
        linked.update(inside)
    for target in sorted(linked):
        if _is_source(root, target):
            files.append(File.generated(config, f"tree/{target}.md", content=_source_page(root, target)))
        elif _is_asset(target):
            files.append(File.generated(config, f"tree/{target}", abs_src_path=str(root / target)))
    for rows in _tracked(root, "docs/studies/*.json"):
        if study := STUDY.fullmatch(rows):
            files.append(File.generated(config, f"{study[1]}.html", content=kept_page(root / rows)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Turns links of the repository into links of the site."""
    root, here = _root(config), _in_repository(page.file.src_uri)

    def link(found: re.Match[str]) -> str:
        start, target, anchor = found.groups(default="")
        if not target or ":" in target:
            return found.group()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
        uri = _in_site(root, path)
        if uri is None:
            raise PluginError(f"{here}: the link {target!r} leads nowhere")
        return f"{start}{posixpath.relpath(uri, posixpath.dirname(page.file.src_uri) or '.')}{anchor})"

    at, parts = 0, []
    for fence in FENCE.finditer(markdown):
        parts += [LINK.sub(link, markdown[at:fence.start()]), fence.group()]
        at = fence.end()
    return "".join([*parts, LINK.sub(link, markdown[at:])])


def _root(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path).resolve().parent


def _tracked(root: Path, pattern: str) -> list[str]:
    # What is new and not yet committed belongs to the site, too; what is ignored does not.
    return sorted(subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern], cwd=root, capture_output=True,
        text=True, check=True,
    ).stdout.split())


def _targets(root: Path, page: str) -> Iterator[str]:
    """Paths in the repository that `page` links to."""
    for _, target, _ in LINK.findall(FENCE.sub("", (root / page).read_text())):
        if target and ":" not in target:
            yield posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def _is_source(root: Path, path: str) -> bool:
    return (root / path).is_file() and not path.endswith((".md", *ASSETS))


def _is_bare(root: Path, path: str) -> bool:
    return (root / path).is_dir() and not (root / path / "README.md").exists() and path != "docs"


def _is_asset(path: str) -> bool:
    return path.endswith(ASSETS) and not path.startswith("docs/")


def _in_repository(uri: str) -> str:
    return uri.removeprefix("tree/") if uri.startswith("tree/") else f"docs/{uri}"


def _in_site(root: Path, path: str) -> str | None:
    """The source URI in the site of a path in the repository."""
    if _is_bare(root, path):
        return f"tree/{path}/README.md"
    if (root / path).is_dir():
        path = posixpath.join(path, "index.md" if (root / path / "index.md").exists() else "README.md")
    if not (root / path).is_file():
        return None
    if study := STUDY.fullmatch(path):
        return f"{study[1]}.html"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"tree/{path}.md" if _is_source(root, path) else f"tree/{path}"


def _source_page(root: Path, path: str) -> str:
    text, language = (root / path).read_text(), LANGUAGES.get(Path(path).suffix, "text")
    return f"---\nsearch:\n  exclude: true\n---\n# {path}\n\n````{language}\n{text}\n````\n"
