"""The map and the pages for developers name files that are there, and the map is short."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PAGES = MAP + "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "dev").glob("*.md")))
PLACES = (
    ROOT,
    ROOT / "tests",
    ROOT / "console",
    ROOT / "console" / "language",
    ROOT / "console" / "tui",
    ROOT / "console" / "files",
    ROOT / "console" / "plan",
)
"""Where a path of a page may begin."""


def test_every_path_that_the_pages_name_is_there() -> None:
    named = set(re.findall(r"`([\w./]+(?:\.py|/))`", PAGES))
    assert len(named) > 80
    assert {path for path in named if not any((place / path).exists() for place in PLACES)} == set()


def test_every_module_that_the_pages_name_is_there() -> None:
    rooms = {path.name for path in (ROOT / "console").iterdir() if path.is_dir()}
    named = {path for path in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", PAGES) if path.split(".")[0] in rooms}
    assert len(named) > 20
    modules = {path: (ROOT / "console").joinpath(*path.split(".")) for path in named}
    assert {path for path, at in modules.items() if not (at.is_dir() or at.with_suffix(".py").exists())} == set()


def test_the_map_names_every_room() -> None:
    rooms = {path.name for path in (ROOT / "console").iterdir() if (path / "__init__.py").exists()}
    assert {room for room in rooms if f"\n{room}/ " not in MAP} == set()


def test_the_map_fits_on_a_page() -> None:
    lines = MAP.splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if len(line) > 100] == []
