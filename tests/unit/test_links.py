"""Links between the project's pages lead somewhere: to a file that is there, and to a heading that it has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks/README.md", *ROOT.glob(".github/**/*.md")]
)
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)", re.MULTILINE)


def links(text: str) -> Iterator[str]:
    """Every target of a page's links, those in code aside."""
    for found in _LINK.finditer(_CODE.sub("", text)):
        yield found[1] or found[2]


@cache
def anchors(page: Path) -> frozenset[str]:
    """What a page's headings are linked by."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL), re.MULTILINE
    )
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def broken(page: Path, text: str) -> Iterator[str]:
    """The links of a page's text that lead nowhere."""
    for link in links(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield f"{page.relative_to(ROOT)}: {link}"


def test_every_link_leads_somewhere() -> None:
    assert [each for page in PAGES for each in broken(page, page.read_text("utf-8"))] == []


def test_no_page_names_an_index_of_packages() -> None:
    hosts = [f"{name}.org" for name in ("pypi", "pythonhosted", "npmjs")]
    found = [page.name for page in PAGES for host in hosts if host in page.read_text("utf-8")]
    assert found == []


def test_a_link_to_nowhere_is_found() -> None:
    text = "[a](docs/nothing.md) [b](CHANGELOG.md#nothing) [c](CHANGELOG.md#added) `[d](x.md)` [e](https://kafka.apache.org)"
    assert list(broken(ROOT / "README.md", text)) == ["README.md: docs/nothing.md", "README.md: CHANGELOG.md#nothing"]
