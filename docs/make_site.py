"""Pages of the site that are files beside `docs/`: the README is the first page."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Files of the checkout, and the pages that they are."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add them, with their links as seen from the pages."""
    root = Path(config.config_file_path).parent
    for name, page in PAGES.items():
        text = (root / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=with_links_inside(text)))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Pages that name files of the checkout link to the pages that these are."""
    return re.sub(
        r"\]\(\.\./([A-Z]+\.md)", lambda link: f"]({PAGES.get(link[1], link[0])}", markdown
    )


def with_links_inside(text: str) -> str:
    """Links into `docs/`, and to each other, as pages beside them have them."""
    text = re.sub(r"\]\(docs/notebooks\)", "](notebooks/README.md)", text)
    text = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"\]\(([A-Z]+\.md)", lambda link: f"]({PAGES.get(link[1], link[1])}", text)
