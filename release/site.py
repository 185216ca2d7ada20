"""A hook of mkdocs that adds pages and pictures from outside of docs/ to the site, and changes their links
accordingly.
"""

from __future__ import annotations

import re
from os.path import relpath
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FROM_ROOT = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
    "benchmarks/README.md": "BENCHMARKS.md",
}
"""Path of a page in the checkout -> its path in the site."""
OTHERS = {"LICENSE": "LICENSE", "site.css": "release/site.css"}
"""Path of a file in the site -> its path in the checkout."""
_LINK = re.compile(r"(\]\(|^\[[^\]]+\]: )(?![a-z]+:|#)([^)\s#]+)", re.MULTILINE)


def place(page: str, link: str) -> str:
    """Return a link of a page as the site needs it: relative to the page's path in the site. page: its path in the
    checkout.
    """
    target = (ROOT / page).parent.joinpath(link).resolve().relative_to(ROOT).as_posix()
    return relpath(_in_site(target), Path(_in_site(page)).parent)


def _in_site(path: str) -> str:
    return FROM_ROOT.get(path, path.removeprefix("docs/"))


def with_places(page: str, text: str) -> str:
    """Return a page's text in which each link is replaced as `place` says."""
    return _LINK.sub(lambda found: found[1] + place(page, found[2]), text)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages and pictures that are not in docs/ to the files of the site; mkdocs calls this."""
    from mkdocs.structure.files import File

    for page, name in FROM_ROOT.items():
        files.append(File.generated(config, name, content=with_places(page, (ROOT / page).read_text("utf-8"))))
    for picture in sorted((ROOT / "screenshots").glob("*.svg")):
        files.append(File.generated(config, f"screenshots/{picture.name}", abs_src_path=str(picture)))
    for name, path in OTHERS.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(text: str, page: Any, **_: Any) -> str:
    """Return the text of a page of docs/ with links for the site; mkdocs calls this. The first page gets no navigation,
    because it is the only page of its section.
    """
    source = page.file.src_uri
    if source == "index.md":
        page.meta["hide"] = ["navigation"]
    return text if source in FROM_ROOT.values() else with_places(f"docs/{source}", text)
