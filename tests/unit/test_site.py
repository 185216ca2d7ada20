"""The site has every page once, and its links follow the pages of the root that move into it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.site import FROM_ROOT, OTHERS, with_places

ROOT = Path(__file__).resolve().parents[2]


def pages(nav: Any) -> Iterator[str]:
    for each in nav:
        (under,) = each.values()
        yield from [under] if isinstance(under, str) else pages(under)


def test_every_page_stands_in_the_navigation_once() -> None:
    found = sorted(pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]))
    assert found == sorted(
        [*FROM_ROOT.values(), *(page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md"))]
    )


def test_what_the_theme_is_told_of_stands_in_the_site() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    assert set(site["extra_css"]) <= set(OTHERS)
    assert all((ROOT / path).is_file() for path in OTHERS.values())


@pytest.mark.parametrize(
    ("page", "text", "wanted"),
    [
        ("README.md", "[a](docs/trust.md#warnings)", "[a](trust.md#warnings)"),
        ("README.md", "![b](screenshots/tour.svg)", "![b](screenshots/tour.svg)"),
        ("docs/connect.md", "[a](../README.md#status) [b](trust.md)", "[a](index.md#status) [b](trust.md)"),
        ("docs/walk.md", "![a](../screenshots/now.svg)", "![a](screenshots/now.svg)"),
        ("benchmarks/README.md", "[a](../ARCHITECTURE.md)", "[a](ARCHITECTURE.md)"),
        ("ARCHITECTURE.md", "[a](docs/dev/edits.md)", "[a](dev/edits.md)"),
        ("docs/dev/README.md", "[a](edits.md) [b](../../README.md)", "[a](edits.md) [b](../index.md)"),
        ("CHANGELOG.md", "[0.1.0]: docs/install.md", "[0.1.0]: install.md"),
        ("README.md", "[a](https://kafka.apache.org/) [b](#status)", "[a](https://kafka.apache.org/) [b](#status)"),
    ],
)  # fmt: skip
def test_links_follow(page: str, text: str, wanted: str) -> None:
    assert with_places(page, text) == wanted
