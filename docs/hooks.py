"""Source files that pages link to become pages of the site, so the same links work in the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(
    r"\]\(\.\./((?:src|tests|benchmarks|docs/figures)/[\w./-]+|README\.md|CHANGELOG\.md)(#[\w-]+)?\)"
)


def on_files(files: Any, *, config: Any) -> Any:
    """Add a page for every file outside docs/ that some page links to."""
    linked = {
        path
        for page in files.documentation_pages()
        for path, _ in LINK.findall(Path(page.abs_src_path).read_text(encoding="utf-8"))
    }
    for path in sorted(linked):
        if not (ROOT / path).is_file():
            raise PluginError(f"a page links to {path}, which does not exist")
        files.append(File.generated(config, _page(path), content=_listing(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Point links to such files at their pages."""
    return LINK.sub(lambda link: f"]({_page(link[1])}{link[2] or ''})", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings name things in reStructuredText, :class:`x`; on the site the code alone is shown."""
    return re.sub(r":(?:class|func|meth|mod|attr|data):(?=<code)", "", html)


def _page(path: str) -> str:
    return f"source/{path}.md"


def _listing(path: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    kind = "python" if path.endswith(".py") else "text"
    return f"---\nsearch:\n  exclude: true\n---\n# {path}\n\n{fence}{kind}\n{text}\n{fence}\n"
